import type { ConversionOptions, ConvertedRequest } from '../../../src/convert/conversion.ts';
import { type Dialect, type DialectWish, resolveDialect } from '../../../src/convert/dialect.ts';
import { convertMessagesRequest, type MessagesState } from '../../../src/convert/messages-request.ts';
import { createMessagesStream } from '../../../src/convert/messages-stream.ts';
import type { UpstreamFault } from '../../../src/convert/upstream-fault.ts';

/** Ids that count per prefix: the same in every run. */
export function countingIds(): (prefix: string) => string {
  const last = new Map<string, number>();
  return (prefix) => {
    const next = (last.get(prefix) ?? 0) + 1;
    last.set(prefix, next);
    return `${prefix}${next}`;
  };
}

/** A block of text as a reply has it. */
export function text(value: string): object {
  return { type: 'text', text: value, citations: null };
}

/** A call of a tool as a reply has it. */
export function tool(id: string, name: string, input: object = {}): object {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
}

/** The dialect of an ordinary node, with wishes. */
function dialect(wish: DialectWish = {}, host = 'vllm.example'): Dialect {
  return resolveDialect({ host, model: 'm', node: wish });
}

export function options(wish: DialectWish = {}, strict = false, host?: string): ConversionOptions {
  return { model: 'node-model', dialect: dialect(wish, host), strict, newId: countingIds(), now: () => 0 };
}

/** A request that is complete but for the fields given. */
export function request(fields: object = {}): Record<string, unknown> {
  return { model: 'claude-x', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...fields };
}

export function convert(
  fields: object = {},
  wish: DialectWish = {},
  host?: string,
): ConvertedRequest<MessagesState> {
  return convertMessagesRequest(request(fields), options(wish, false, host));
}

/** A request with these messages, converted: the chat messages alone. */
export function turns(messages: readonly unknown[], wish: DialectWish = {}): readonly unknown[] {
  return convert({ messages }, wish).chat.messages;
}

export function state(fields: object = {}): MessagesState {
  return convert(fields).state;
}

/**
 * Everything a stream writes for these bytes, cut into pieces of `size` or given as pieces; a fault ends in its error
 * event, as the gateway does it.
 */
export function streamed(
  bytes: Uint8Array | readonly Uint8Array[],
  of: MessagesState = state(),
  size?: number,
  cut?: UpstreamFault,
): string {
  const stream = createMessagesStream(of);
  const out: string[] = [];
  for (const piece of bytes instanceof Uint8Array ? pieces(bytes, size) : bytes)
    out.push(...stream.push(piece));
  out.push(...stream.end(cut));
  if (stream.fault !== undefined) out.push(...stream.fail(stream.fault));
  return out.join('');
}

function pieces(bytes: Uint8Array, size = bytes.length): Uint8Array[] {
  const count = Math.ceil(bytes.length / (size || 1));
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}
