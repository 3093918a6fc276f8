import type { ChatAssistantMessage, ChatCall } from './chat-request.ts';
import { limits } from './limits.ts';
import { type Block, isServerBlock, readBlocks, unexpectedBlock } from './messages-content.ts';
import { hintFields, type MessagesContext } from './messages-context.ts';
import { asObject, checkNesting, invalid, pathOf, requiredString } from './request-fields.ts';

/** What one run of assistant messages says; Anthropic takes neighbours as one turn. */
export interface AssistantTurn {
  readonly texts: string[];
  readonly thinking: string[];
  readonly calls: ChatCall[];
  readonly ids: Set<string>;
}

/** Adds the content of an assistant message to its turn. */
export function readAssistant(
  content: unknown,
  at: string,
  turn: AssistantTurn,
  context: MessagesContext,
): void {
  for (const block of readBlocks(content, at)) readBlock(block, turn, context);
}

/** The chat message of a turn; undefined where nothing is left of it that chat-completions could say. */
export function assistantMessage(
  turn: AssistantTurn,
  context: MessagesContext,
): ChatAssistantMessage | undefined {
  const text = turn.texts.join('');
  const thinking = turn.thinking.join('');
  const field = context.dialect.reasoningHistoryField;
  const reasoning =
    thinking === '' || field === 'None'
      ? {}
      : { [field === 'Reasoning' ? 'reasoning' : 'reasoning_content']: thinking };
  if (turn.calls.length > 0)
    return {
      role: 'assistant',
      content: text.trim() === '' ? null : text,
      ...reasoning,
      tool_calls: turn.calls,
    };
  // Chat-completions refuses a message with neither content nor calls.
  if (text.trim() === '')
    return 'reasoning' in reasoning || 'reasoning_content' in reasoning
      ? { role: 'assistant', content: '', ...reasoning }
      : undefined;
  return { role: 'assistant', content: text, ...reasoning };
}

function readBlock(block: Block, turn: AssistantTurn, context: MessagesContext): void {
  const { type, fields, at } = block;
  hintFields(fields, at, ['cache_control', 'citations'], context.dropped);
  if (type === 'text') turn.texts.push(requiredString(fields, 'text', at));
  else if (type === 'tool_use') turn.calls.push(readCall(block, turn, context));
  else if (type === 'thinking') {
    turn.thinking.push(requiredString(fields, 'thinking', at));
    if (context.dialect.reasoningHistoryField === 'None') context.dropped.hint(at);
  } else if (type === 'redacted_thinking') context.dropped.hint(at);
  else if (isServerBlock(type)) context.dropped.loss(at);
  else unexpectedBlock(block);
}

function readCall({ fields, at }: Block, turn: AssistantTurn, context: MessagesContext): ChatCall {
  const id = requiredString(fields, 'id', at);
  if (turn.ids.has(id)) throw invalid(pathOf(at, 'id'), '`tool_use` ids must be unique');
  turn.ids.add(id);
  const path = pathOf(at, 'input');
  const input = asObject(fields['input'] ?? {}, path);
  checkNesting(input, path, limits.nesting);
  const name = context.names.chatName({ name: requiredString(fields, 'name', at) });
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}
