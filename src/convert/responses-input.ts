import type { ChatCall, ChatMessage } from './chat-request.ts';
import { ConversionError } from './conversion-error.ts';
import type { JsonObject } from './json.ts';
import { limits } from './limits.ts';
import {
  asList,
  asObject,
  invalid,
  missing,
  optionalString,
  pathOf,
  requiredString,
  unsupportedValue,
} from './request-fields.ts';
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
import { ResponsesTurns } from './responses-turns.ts';

/** What OpenAI's servers did in earlier turns: no node can be told of it. */
const serverItems =
  /^(?:web_search_call|file_search_call|code_interpreter_call|image_generation_call|mcp_list_tools|mcp_call|tool_search_call|tool_search_output|additional_tools|configuration_update|program.*)$/;

/** Calls and outputs of tools that exist only in Responses; leaving out one half would break the pair. */
const foreignItems =
  /^(?:(?:local_shell|shell|apply_patch|computer)_call(?:_output)?|mcp_approval_(?:request|response))$/;

/**
 * Converts `input` (responses.md) to chat messages. Throws a ConversionError for what the
 * vendor refuses and for items that cannot be carried.
 */
export function convertInput(body: JsonObject, context: ResponsesContext): readonly ChatMessage[] {
  const input = body['input'] ?? undefined;
  if (input === undefined) return [];
  if (typeof input === 'string') return input === '' ? [] : [{ role: 'user', content: input }];
  const items = asList(input, 'input', limits.items);
  const answered = answeredCalls(items);
  const turns = new ResponsesTurns(context.dialect);
  for (const [index, value] of items.entries()) {
    const at = pathOf('input', index);
    const item = asObject(value, at);
    const type = itemType(item, at);
    if (type === 'message') readMessage(item, at, turns, context);
    else if (type === 'reasoning') readReasoning(item, at, turns, context);
    else if (isCall(item)) turns.call(readCall(item, type, at, context), answered.has(index));
    else if (isCallOutput(item)) {
      const content =
        type === 'tool_search_output'
          ? { text: foundText(item, context.names), media: [] }
          : outputContent(item, at, context);
      turns.result({ callId: requiredString(item, 'call_id', at), ...content });
    } else if (serverItems.test(type)) context.dropped.loss(at);
    else throw refused(item, type, at);
  }
  return turns.end();
}

/** Messages and references may come without a type. */
function itemType(item: JsonObject, at: string): string {
  const type = optionalString(item, 'type', at);
  if (type !== undefined) return type;
  if (item['role'] !== undefined || item['content'] !== undefined) return 'message';
  if (typeof item['id'] === 'string') return 'item_reference';
  throw missing(pathOf(at, 'type'));
}

function readMessage(item: JsonObject, at: string, turns: ResponsesTurns, context: ResponsesContext): void {
  const role = requiredString(item, 'role', at);
  if (role === 'user') turns.other({ role, content: userContent(item, at, context) });
  else if (role === 'assistant') turns.say(assistantContent(item, at));
  else if (role === 'system' || role === 'developer') {
    const content = systemContent(item, at);
    const kept = role === 'developer' && context.dialect.developerRole ? role : 'system';
    if (content !== '') turns.other({ role: kept, content });
  } else
    throw invalid(pathOf(at, 'role'), "Supported values are: 'assistant', 'system', 'developer' and 'user'");
}

function readReasoning(item: JsonObject, at: string, turns: ResponsesTurns, context: ResponsesContext): void {
  const text = reasoningText(item, at);
  if (text !== '') turns.reason(text);
  if (text === '' || context.dialect.reasoningHistoryField === 'None') context.dropped.hint(at);
}

function readCall(item: JsonObject, type: string, at: string, context: ResponsesContext): ChatCall {
  const id = requiredString(item, 'call_id', at);
  if (type === 'tool_search_call') {
    const called = { name: context.names.chatName(searchOrigin), arguments: searchArguments(item) };
    return { id, type: 'function', function: called };
  }
  const name = requiredString(item, 'name', at);
  const namespace = optionalString(item, 'namespace', at);
  const custom = type === 'custom_tool_call';
  const text = requiredString(item, custom ? 'input' : 'arguments', at);
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

function refused(item: JsonObject, type: string, at: string): ConversionError {
  const path = pathOf(at, 'type');
  if (type === 'item_reference') return notKept(requiredString(item, 'id', at));
  if (type.startsWith('compaction'))
    return unsupportedValue(path, 'Compacted context is encrypted and cannot be read by the model server');
  if (foreignItems.test(type))
    return unsupportedValue(path, `Items of type '${type}' are not supported by the model server`);
  return invalid(path, `Items of type '${type.slice(0, 60)}' are not known`);
}

/** The vendor's answer to a reference into a conversation that nobody stored. */
function notKept(id: string): ConversionError {
  const reason = `Item with id '${id.slice(0, 80)}' not found. Items are not persisted when store is set to false.`;
  return new ConversionError({ status: 404, code: itemNotFound, param: 'input', reason, sentence: reason });
}

/** The code of a reference to an item that is not stored; on the wire it has none. */
export const itemNotFound = 'item_not_found';
