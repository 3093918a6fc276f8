import type { ChatCall, ChatMessage } from './chat-request.ts';
import { ConversionError } from './conversion-error.ts';
import type { Fields } from './fields.ts';
import { isPacked, unpackSignatures } from './kept-signatures.ts';
import { invalid, missing, unsupportedValue } from './request-fields.ts';
import {
  assistantContent,
  outputContent,
  reasoningText,
  systemContent,
  userContent,
} from './responses-content.ts';
import { answeredCalls, isCall, isCallOutput } from './responses-pairing.ts';
import type { ResponsesContext } from './responses-state.ts';
import { foundText, searchArguments, searchOrigin } from './responses-tool-search.ts';
import type { FoundTools } from './responses-tools.ts';
import { ResponsesTurns } from './responses-turns.ts';
import { isUnreadText, noText, type UnreadText, unreadText } from './unread-text.ts';

/** What OpenAI's servers did in earlier turns: chat-completions has no form for it. */
const serverItems =
  /^(?:web_search_call|file_search_call|code_interpreter_call|image_generation_call|mcp_list_tools|mcp_call|tool_search_call|tool_search_output|additional_tools|configuration_update|program.*)$/;

/** Calls and outputs of tools that exist only in Responses; leaving out one half would break the pair. */
const foreignItems =
  /^(?:(?:local_shell|shell|apply_patch|computer)_call(?:_output)?|mcp_approval_(?:request|response))$/;

/** The id and status of an item: the gateway stores no items, and models do not read these members. */
const bookkeeping = ['id', 'status', 'created_by'] as const;

/**
 * Converts `input` (responses.md) to chat messages. Throws a ConversionError for what the
 * vendor refuses and for items that cannot be carried.
 */
export function convertInput(
  input: UnreadText | readonly Fields[] | undefined,
  found: FoundTools,
  context: ResponsesContext,
): readonly ChatMessage[] {
  if (input === undefined || input === noText) return [];
  if (isUnreadText(input)) return [{ role: 'user', content: input }];
  const answered = answeredCalls(input);
  const turns = new ResponsesTurns(context.dialect);
  for (const [index, item] of input.entries()) {
    const type = itemType(item);
    item.unneeded(...bookkeeping);
    if (type === 'message') readMessage(item, turns, context);
    else if (type === 'reasoning') readReasoning(item, turns, context);
    else if (isCall(type, item)) turns.call(readCall(item, type, context), answered.has(index));
    else if (isCallOutput(type, item)) {
      readCaller(item);
      // The tool is named in the call.
      item.unneeded('name', 'namespace');
      const content =
        type === 'tool_search_output'
          ? { text: unreadText(foundText(found.get(item) ?? [])), media: [] }
          : outputContent(item, context);
      turns.result({ callId: item.neededText('call_id'), ...content });
    } else if (serverItems.test(type)) item.dropWhole('loss');
    else throw refused(item, type);
  }
  return turns.end();
}

/** Messages and references may come without a type. */
function itemType(item: Fields): string {
  const type = item.text('type');
  if (type !== undefined) return type;
  if (item.kind('role') !== 'absent' || item.kind('content') !== 'absent') return 'message';
  if (item.kind('id') === 'text') return 'item_reference';
  throw missing(item.path('type'));
}

/** Whether the assistant's message was a remark or the answer: chat-completions has one kind. */
const messageMarks: ReadonlySet<string> = new Set(['phase']);

function readMessage(item: Fields, turns: ResponsesTurns, context: ResponsesContext): void {
  item.hints(messageMarks);
  const role = item.neededText('role');
  if (role === 'user') turns.other({ role, content: userContent(item, context) });
  else if (role === 'assistant') turns.say(assistantContent(item));
  else if (role === 'system' || role === 'developer') {
    const content = systemContent(item);
    const kept = role === 'developer' && context.dialect.developerRole ? role : 'system';
    if (content !== noText) turns.other({ role: kept, content });
  } else
    throw invalid(item.path('role'), "Supported values are: 'assistant', 'system', 'developer' and 'user'");
}

/** A summary beside the reasoning itself. */
const reasoningMarks: ReadonlySet<string> = new Set(['summary']);

function readReasoning(item: Fields, turns: ResponsesTurns, context: ResponsesContext): void {
  item.hints(reasoningMarks);
  const text = reasoningText(item);
  const encrypted = item.text('encrypted_content') ?? '';
  const kept = isPacked(encrypted) ? unpackSignatures(encrypted, context.model) : undefined;
  if (encrypted !== '' && kept === undefined) item.hint('encrypted_content');
  turns.reason({ text, kept, item });
  if (text !== '' && context.dialect.reasoningHistoryField !== 'None') return;
  if (kept === undefined) item.dropWhole('hint');
  // Details hold the reasoning itself.
  else if (text !== '' && kept.details === undefined)
    item.hint(item.firstKind('content') === 'absent' ? 'summary' : 'content');
}

/** A call that a program of the vendor made counts as the model's own. */
function readCaller(item: Fields): void {
  item.object('caller')?.lossUnless('type', 'direct');
}

function readCall(item: Fields, type: string, context: ResponsesContext): ChatCall {
  const id = item.neededText('call_id');
  readCaller(item);
  if (type === 'tool_search_call') {
    const called = { name: context.names.chatName(searchOrigin), arguments: searchArguments(item) };
    return { id, type: 'function', function: called };
  }
  const name = item.neededText('name');
  const namespace = item.text('namespace');
  const custom = type === 'custom_tool_call';
  const text = item.neededText(custom ? 'input' : 'arguments');
  const origin = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(custom ? { custom } : {}),
  };
  return {
    id,
    type: 'function',
    function: {
      name: context.names.chatName(origin),
      arguments: custom ? JSON.stringify({ input: text }) : text.trim() === '' ? '{}' : text,
    },
  };
}

function refused(item: Fields, type: string): ConversionError {
  const path = item.path('type');
  if (type === 'item_reference') return notKept(item.neededText('id'));
  if (type.startsWith('compaction'))
    return unsupportedValue(path, 'Compacted context is encrypted and cannot be read by the model server');
  if (foreignItems.test(type))
    return unsupportedValue(path, `Items of type '${type}' are not supported by the model server`);
  return invalid(path, `Items of type '${type.slice(0, 60)}' are not known`);
}

/** The vendor's error for a reference into a conversation that is not stored. */
function notKept(id: string): ConversionError {
  const reason = `Item with id '${id.slice(0, 80)}' not found. Items are not persisted when store is set to false.`;
  return new ConversionError({ status: 404, code: itemNotFound, param: 'input', reason, sentence: reason });
}

/** Our code for a reference to an item that is not stored. OpenAI's error has no code, so it is not sent. */
export const itemNotFound = 'item_not_found';
