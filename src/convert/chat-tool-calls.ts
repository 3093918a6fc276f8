import { isObject, type JsonObject, objectOf, textOf } from './json.ts';
import { limits } from './limits.ts';
import { UpstreamFault } from './upstream-fault.ts';

/** A tool call of an answer. `arguments` is the node's text: JSON of an object if all is well, '' for none. */
export interface ChatToolCall {
  /** The node's id; '' if there is none. */
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** `extra_content`, which the node needs again with the call: Gemini's thought signature. */
  readonly extra: JsonObject | undefined;
}

/** One entry of `tool_calls`, complete or a piece, in any of its three forms. */
export interface CallPiece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** Free text instead of JSON: `arguments` holds the text itself. */
  readonly custom: boolean;
  readonly extra: JsonObject | undefined;
}

/** The entries of a message or delta: `tool_calls` of type function or custom, else the legacy `function_call`. */
export function readCallPieces(message: JsonObject): readonly CallPiece[] {
  const calls = message['tool_calls'];
  const entries = Array.isArray(calls) ? calls.filter(isObject) : [];
  if (entries.length > 0) return entries.map(pieceOf);
  const legacy = message['function_call'];
  return isObject(legacy) ? [pieceOf({ index: 0, function: legacy })] : [];
}

/** The calls of a whole message. Throws a `malformed` fault for a call without a name. */
export function readToolCalls(message: JsonObject): readonly ChatToolCall[] {
  const pieces = readCallPieces(message).filter((piece) => piece.name !== '' || piece.arguments !== '');
  if (pieces.length > limits.toolCalls)
    throw new UpstreamFault('oversize', 'The model server answered with too many tool calls.');
  return pieces.map(({ id, name, arguments: text, custom, extra }) => {
    if (name === '')
      throw new UpstreamFault('malformed', 'The model server sent a tool call without a name.');
    return { id, name, arguments: custom ? JSON.stringify({ input: text }) : text, extra };
  });
}

function pieceOf(entry: JsonObject): CallPiece {
  const custom = isObject(entry['custom']);
  const body = objectOf(custom ? entry['custom'] : entry['function']);
  const { index, extra_content: extra } = entry;
  return {
    index: typeof index === 'number' && Number.isSafeInteger(index) ? index : undefined,
    id: textOf(entry['id']),
    name: textOf(body['name']),
    arguments: custom ? textOf(body['input']) : argumentsOf(body['arguments']),
    custom,
    extra: isObject(extra) ? extra : undefined,
  };
}

/** Some nodes send the parsed object instead of its text. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isObject(value) ? JSON.stringify(value) : '';
}
