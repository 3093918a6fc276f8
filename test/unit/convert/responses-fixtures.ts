import { readChatReply } from '../../../src/convert/chat-reply.ts';
import type { ConversionOptions } from '../../../src/convert/conversion.ts';
import { ConversionError } from '../../../src/convert/conversion-error.ts';
import { type Dialect, type DialectWish, resolveDialect } from '../../../src/convert/dialect.ts';
import { convertResponsesReply } from '../../../src/convert/responses-reply.ts';
import { convertResponsesRequest } from '../../../src/convert/responses-request.ts';
import { createResponsesStream } from '../../../src/convert/responses-stream.ts';
import type { UpstreamFault } from '../../../src/convert/upstream-fault.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The dialect of a node that says nothing but this. */
export function dialectWith(node: DialectWish = {}): Dialect {
  return resolveDialect({ host: 'node.example', model: 'upstream-model', node });
}

/** OpenAI's own. */
export const openAI = resolveDialect({ host: 'api.openai.com', model: 'gpt-6' });

/** Options with ids that count, so that two runs write the same bytes. */
export function options(dialect: Dialect = dialectWith(), strict = false): ConversionOptions {
  let count = 0;
  const newId = (prefix: string) => `${prefix}${++count}`;
  return { model: 'upstream-model', dialect, strict, newId, now: () => 1_800_000_000_500 };
}

export function convert(body: unknown, dialect?: Dialect, strict?: boolean) {
  return convertResponsesRequest(body, options(dialect, strict));
}

/** The chat request, as it is written, for a body that has at least a model. */
export function chatOf(body: Json, dialect?: Dialect): Json {
  return JSON.parse(JSON.stringify(convert({ model: 'm', input: 'hi', ...body }, dialect).chat)) as Json;
}

/** The chat messages for these items. */
export function messagesOf(input: unknown, dialect?: Dialect, body: Json = {}): unknown {
  return convert({ model: 'm', input, ...body }, dialect).chat.messages;
}

export function refusalOf(run: () => unknown): ConversionError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConversionError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** The response object for a chat body. */
export function replyOf(chatBody: unknown, request: Json = {}): Json {
  const { state } = convert({ model: 'm', input: 'hi', ...request });
  return JSON.parse(convertResponsesReply(readChatReply(chatBody), state).json) as Json;
}

/** A chat body with this message. */
export function completion(message: object, finish: string | null = 'stop', more: object = {}): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    ...more,
  };
}

/** The whole converted stream, cut into pieces of `size` bytes; a fault is written as the gateway would. */
export function streamOf(
  bytes: Uint8Array,
  request: Json = {},
  size = bytes.length,
  cut?: UpstreamFault,
): string {
  const { state } = convert({ model: 'm', input: 'hi', stream: true, ...request });
  const stream = createResponsesStream(state);
  const out: string[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(...stream.push(bytes.subarray(at, at + size)));
  out.push(...stream.end(cut));
  if (stream.fault !== undefined) out.push(...stream.fail(stream.fault));
  return out.join('');
}
