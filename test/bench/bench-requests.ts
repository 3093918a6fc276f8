/** Models that the bench's upstream knows; each behaves in its own way. */
export const benchModels = { plain: 'bench', stream: 'bench-stream', idle: 'bench-idle' } as const;

/** Digits of a stream's number in a request; fixed, so that it is found at one place. */
export const streamNumberDigits = 6;

/** Stands before a stream's number: some formats carry `user`, the text all of them. */
export const streamNumberMark = '#';

/** The format that a request is written in. A node of the bench speaks chat alone, so others are converted. */
export type BenchFormat = 'chat' | 'messages' | 'responses';

/** What every request to one target carries. */
export interface Caller {
  port: number;
  key: string;
  /** More lines of the head. */
  headers?: readonly string[];
}

/** One whole request, head and body, as bytes; the prompt has about `promptBytes`. */
export function plainRequest(caller: Caller, promptBytes: number, format: BenchFormat = 'chat'): Buffer {
  return withHead(caller, format, { model: benchModels.plain, ...said(format, conversation(promptBytes)) });
}

/** A request for a stream, which carries its number so that generator and upstream can go in step. */
export function streamRequest(
  caller: Caller,
  model: 'stream' | 'idle',
  number: number,
  format: BenchFormat = 'chat',
): Buffer {
  const messages = conversation(1000);
  const [first] = messages;
  const digits = String(number).padStart(streamNumberDigits, '0');
  if (first !== undefined) first.content = `${streamNumberMark}${digits} ${first.content}`;
  return withHead(caller, format, { model: benchModels[model], ...said(format, messages), stream: true });
}

/** A whole chat request whose prompt is pictures of 1 MB each, as base64: `megabytes` of them. */
export function pictureRequest(caller: Caller, megabytes: number): Buffer {
  const picture = Buffer.alloc(750_000, 'a picture, as far as any proxy can tell').toString('base64');
  const part = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } };
  const content = [{ type: 'text', text: 'What is this?' }, ...Array.from({ length: megabytes }, () => part)];
  return withHead(caller, 'chat', { model: benchModels.plain, messages: [{ role: 'user', content }] });
}

const paths: Readonly<Record<BenchFormat, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

function said(format: BenchFormat, messages: readonly object[]): object {
  if (format === 'responses') return { input: messages };
  return format === 'messages' ? { messages, max_tokens: 4096 } : { messages };
}

function withHead(caller: Caller, format: BenchFormat, value: object): Buffer {
  const body = Buffer.from(JSON.stringify(value));
  const head = [
    `POST ${paths[format]} HTTP/1.1`,
    `Host: 127.0.0.1:${caller.port}`,
    `Authorization: Bearer ${caller.key}`,
    'Content-Type: application/json',
    'Accept: application/json',
    ...(caller.headers ?? []),
    `Content-Length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

/** Messages of prose with what prose has: line ends, quotation marks and letters beyond ASCII. */
function conversation(bytes: number) {
  const sentence = 'The "quick" brown fox — naïve, as ever — jumps over the lazy dog;\nthen it rests. ';
  const perMessage = Math.min(bytes, 2000);
  const content = sentence.repeat(Math.ceil(perMessage / sentence.length)).slice(0, perMessage);
  return Array.from({ length: Math.max(1, Math.round(bytes / perMessage)) }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content,
  }));
}
