import type { ChatAssistantMessage, ChatCall } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { isPacked, type KeptSignatures, unpackSignatures } from './kept-signatures.ts';
import { limits } from './limits.ts';
import { type Block, blockText, isServerBlock, typedBlocks, unexpectedBlock } from './messages-content.ts';
import type { MessagesContext } from './messages-context.ts';
import { invalid } from './request-fields.ts';
import { lacksCall, withSignatures } from './signed-message.ts';
import { isBlank, isUnreadText, joinTexts, noText, type UnreadText } from './unread-text.ts';

/** One turn of the assistant: Anthropic joins neighbouring assistant messages. */
export interface AssistantTurn {
  readonly texts: UnreadText[];
  readonly thinking: string[];
  readonly calls: ChatCall[];
  readonly ids: Set<string>;
  readonly kept: Kept[];
}

/** The signed parts of a block. */
interface Kept {
  readonly signatures: KeptSignatures;
  readonly fields: Fields;
  readonly key: SignatureMember;
}

/** The member that carries signatures. */
type SignatureMember = 'signature' | 'data';

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
  for (const { signatures, fields, key } of turn.kept)
    if (lacksCall(signatures, turn.calls)) fields.hint(key);
  const signed = withSignatures(
    message,
    turn.kept.map(({ signatures }) => signatures),
  );
  // Chat-completions refuses a message with neither content nor calls.
  return blank && Object.keys(signed).length === 2 ? undefined : signed;
}

function readBlock(block: Block, turn: AssistantTurn, context: MessagesContext): void {
  const { type, fields } = block;
  if (type === 'text') turn.texts.push(blockText(fields));
  else if (type === 'tool_use') turn.calls.push(readCall(fields, turn, context));
  else if (type === 'thinking') readThinking(fields, turn, context);
  else if (type === 'redacted_thinking') {
    if (keep(fields, 'data', turn, context) === undefined) fields.dropWhole('hint');
  } else if (type === 'compaction') readCompaction(fields, turn);
  // The block names the model that answered in place of another; Anthropic's servers ignore it, too.
  else if (type === 'fallback') fields.dropWhole('hint');
  else if (isServerBlock(type)) fields.dropWhole('loss');
  else unexpectedBlock(block);
}

function readThinking(fields: Fields, turn: AssistantTurn, context: MessagesContext): void {
  turn.thinking.push(fields.neededText('thinking'));
  const kept = keep(fields, 'signature', turn, context);
  if (context.dialect.reasoningHistoryField === 'None') {
    // The node's dialect has no field for the thinking, but details hold its text, so nothing is lost with them.
    if (kept === undefined) fields.dropWhole('hint');
    else if (kept.details === undefined) fields.hint('thinking');
  } else if (kept === undefined && (fields.text('signature') ?? '') !== '') fields.hint('signature');
}

/** What the node signed in its own answer; undefined if the text was not made by `packSignatures`. */
function keep(
  fields: Fields,
  key: SignatureMember,
  turn: AssistantTurn,
  context: MessagesContext,
): KeptSignatures | undefined {
  const text = fields.text(key);
  if (text === undefined || !isPacked(text)) return undefined;
  const signatures = unpackSignatures(text, context.model);
  if (signatures !== undefined) turn.kept.push({ signatures, fields, key });
  return signatures;
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
