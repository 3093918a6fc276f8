import type { ChatAssistantMessage, ChatCall } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { isPacked, type KeptSignatures, unpackSignatures } from './kept-signatures.ts';
import { limits } from './limits.ts';
import { type Block, blockText, isServerBlock, typedBlocks, unexpectedBlock } from './messages-content.ts';
import type { MessagesContext } from './messages-context.ts';
import { invalid } from './request-fields.ts';
import { withSignatures } from './signed-message.ts';
import { isBlank, isUnreadText, joinTexts, noText, type UnreadText } from './unread-text.ts';

/** One turn of the assistant: Anthropic joins neighbouring assistant messages. */
export interface AssistantTurn {
  readonly texts: UnreadText[];
  readonly thinking: string[];
  readonly calls: ChatCall[];
  readonly ids: Set<string>;
  readonly kept: KeptSignatures[];
}

/** Adds the content of an assistant message to its turn. */
export function readAssistant(message: Fields, turn: AssistantTurn, context: MessagesContext): void {
  const content = message.unreadTextOrObjects('content', limits.parts) ?? noText;
  if (isUnreadText(content)) turn.texts.push(content);
  else for (const block of typedBlocks(content)) readBlock(block, turn, context);
}

/** The chat message of a turn; undefined if nothing of it can be said in chat-completions. */
export function assistantMessage(
  turn: AssistantTurn,
  context: MessagesContext,
): ChatAssistantMessage | undefined {
  const text = joinTexts(turn.texts, '');
  const thinking = turn.thinking.join('');
  const field = context.dialect.reasoningHistoryField;
  const reasoning =
    thinking === '' || field === 'None'
      ? {}
      : { [field === 'Reasoning' ? 'reasoning' : 'reasoning_content']: thinking };
  const blank = isBlank(text);
  const message: ChatAssistantMessage =
    turn.calls.length > 0
      ? { role: 'assistant', content: blank ? null : text, ...reasoning, tool_calls: turn.calls }
      : { role: 'assistant', content: blank ? noText : text, ...reasoning };
  const signed = withSignatures(message, turn.kept);
  // Chat-completions refuses a message with neither content nor calls.
  return blank && Object.keys(signed).length === 2 ? undefined : signed;
}

function readBlock(block: Block, turn: AssistantTurn, context: MessagesContext): void {
  const { type, fields } = block;
  if (type === 'text') turn.texts.push(blockText(fields));
  else if (type === 'tool_use') turn.calls.push(readCall(fields, turn, context));
  else if (type === 'thinking') readThinking(fields, turn, context);
  else if (type === 'redacted_thinking') {
    if (!keep(fields.text('data'), turn, context)) fields.dropWhole('hint');
  } else if (type === 'compaction') readCompaction(fields, turn);
  // It names the model that answered in place of another; Anthropic's servers ignore it too.
  else if (type === 'fallback') fields.dropWhole('hint');
  else if (isServerBlock(type)) fields.dropWhole('loss');
  else unexpectedBlock(block);
}

function readThinking(fields: Fields, turn: AssistantTurn, context: MessagesContext): void {
  turn.thinking.push(fields.neededText('thinking'));
  const signature = fields.text('signature');
  const kept = keep(signature, turn, context);
  if (context.dialect.reasoningHistoryField === 'None') {
    if (kept?.details === undefined) fields.dropWhole('hint');
  } else if (signature !== undefined && signature !== '' && kept === undefined)
    context.dropped.hint(fields.path('signature'));
}

/** What the node signed in its own answer; undefined if the text was not made by `packSignatures`. */
function keep(
  text: string | undefined,
  turn: AssistantTurn,
  context: MessagesContext,
): KeptSignatures | undefined {
  if (text === undefined || !isPacked(text)) return undefined;
  const kept = unpackSignatures(text, context.model);
  if (kept !== undefined) turn.kept.push(kept);
  return kept;
}

const marks: ReadonlySet<string> = new Set(['cache_control']);
const compactionMarks: ReadonlySet<string> = new Set(['cache_control', 'encrypted_content', 'signature']);

/** The summary replaces the conversation before it. */
function readCompaction(fields: Fields, turn: AssistantTurn): void {
  const summary = fields.unreadText('content');
  if (summary === undefined) {
    fields.dropWhole('loss');
    return;
  }
  fields.hints(compactionMarks);
  turn.texts.push(summary);
}

function readCall(fields: Fields, turn: AssistantTurn, context: MessagesContext): ChatCall {
  const id = fields.neededText('id');
  if (turn.ids.has(id)) throw invalid(fields.path('id'), '`tool_use` ids must be unique');
  turn.ids.add(id);
  fields.hints(marks);
  fields.object('caller')?.lossUnless('type', 'direct');
  const input = fields.whole('input') ?? {};
  const name = context.names.chatName({ name: fields.neededText('name') });
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}
