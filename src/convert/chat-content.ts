import { isObject, type JsonObject, listOf, textOf } from './json.ts';

/** A piece of reasoning; `signature` is '' if the node sent none. */
export interface ReasoningPiece {
  readonly text: string;
  readonly signature: string;
}

/** The members in which nodes send reasoning, in order of preference. Only one is read, because two often have the same text. */
export const reasoningSources = [
  'reasoning_content',
  'reasoning',
  'thinking_blocks',
  'reasoning_details',
  'content',
] as const;

export type ReasoningSource = (typeof reasoningSources)[number];

/** The text of a message's or delta's `content`: null, text, or parts, of which only text ones count (unread-answer.ts). */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (const part of listOf(content))
    if (isObject(part) && part['type'] !== 'thinking') text += textOf(part['text']);
  return text;
}

/** The text of a refusal in a message or delta: from `refusal`, or from parts of its `content`. */
export function refusalText(message: JsonObject): string {
  const { refusal, content } = message;
  if (typeof refusal === 'string' && refusal !== '') return refusal;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isObject(part) && part['type'] === 'refusal' ? textOf(part['refusal']) : ''))
    .join('');
}

/**
 * The reasoning of a message or delta in its first source that holds some, or only in `source` once a stream has chosen
 * one. Signatures come from wherever they are: LiteLLM sends the text as `reasoning_content` and the signature in
 * `thinking_blocks`.
 */
export function readReasoning(
  message: JsonObject,
  source?: ReasoningSource,
): { readonly source: ReasoningSource | undefined; readonly pieces: readonly ReasoningPiece[] } {
  if (!mayReason(message)) return silent;
  const sources = source === undefined ? reasoningSources : [source];
  for (const name of sources) {
    const pieces = piecesIn(message, name);
    const text = joined(pieces);
    if (text === '') continue;
    if (pieces.some((piece) => piece.signature !== '')) return { source: name, pieces };
    const signed = signedPieces(message);
    // This field repeats the whole text, divided where the signatures belong.
    if (signed.length > 0 && joined(signed) === text) return { source: name, pieces: signed };
    return { source: name, pieces: [{ text, signature: lastSignature(signed) }] };
  }
  const signature = lastSignature(signedPieces(message));
  return { source: undefined, pieces: signature === '' ? [] : [{ text: '', signature }] };
}

const silent = { source: undefined, pieces: [] } as const;

/** Whether a delta has only text, as most have: checked first, because this runs for each chunk. */
function mayReason(message: JsonObject): boolean {
  return (
    Boolean(message['reasoning_content']) ||
    Boolean(message['reasoning']) ||
    Array.isArray(message['thinking_blocks']) ||
    Array.isArray(message['reasoning_details']) ||
    Array.isArray(message['content'])
  );
}

function piecesIn(message: JsonObject, source: ReasoningSource): readonly ReasoningPiece[] {
  const value = message[source];
  if (source === 'reasoning_content' || source === 'reasoning')
    return [{ text: textOf(value), signature: '' }];
  const pieces: ReasoningPiece[] = [];
  for (const item of listOf(value)) {
    const piece = isObject(item) ? pieceOf(item, source) : undefined;
    if (piece !== undefined && (piece.text !== '' || piece.signature !== '')) pieces.push(piece);
  }
  return pieces;
}

function pieceOf(item: JsonObject, source: ReasoningSource): ReasoningPiece | undefined {
  const signature = textOf(item['signature']);
  if (source === 'reasoning_details')
    return { text: textOf(item['text']) || textOf(item['summary']), signature };
  if (item['type'] !== 'thinking') return undefined;
  const thinking = item['thinking'];
  const text = typeof thinking === 'string' ? thinking : contentText(thinking);
  return { text, signature };
}

function signedPieces(message: JsonObject): readonly ReasoningPiece[] {
  const blocks = piecesIn(message, 'thinking_blocks');
  return blocks.length > 0 ? blocks : piecesIn(message, 'reasoning_details');
}

function joined(pieces: readonly ReasoningPiece[]): string {
  return pieces.map((piece) => piece.text).join('');
}

function lastSignature(pieces: readonly ReasoningPiece[]): string {
  return pieces.findLast((piece) => piece.signature !== '')?.signature ?? '';
}
