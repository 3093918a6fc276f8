import { describe, expect, test } from 'vitest';
import { StreamWatch } from '../../../../src/gateway/answer/stream-watch.ts';
import type { CallerFormat } from '../../../../src/routing/caller-format.ts';
import type { UpstreamConnection } from '../../../../src/upstream/connection.ts';
import { maskCredentials } from '../../../../src/upstream/mask-credentials.ts';

const credential = 'sk-node+4711/"é';
const connection: UpstreamConnection = {
  baseURL: 'http://127.0.0.1:1',
  authentication: 'Bearer',
  credential,
  headers: [],
  timeouts: { connectSeconds: 1, firstByteSeconds: 1, idleSeconds: 1, totalSeconds: 1 },
};

const noStart = { message: undefined, response: undefined };

/** What goes out of a stream that comes in these pieces, and how it is judged. */
function followed(format: CallerFormat, ...pieces: readonly (string | Buffer)[]) {
  const watch = new StreamWatch(format, noStart, (bytes) => maskCredentials(bytes, connection));
  const out = pieces.map((piece) => watch.take(Buffer.from(piece)));
  return {
    text: Buffer.concat([...out, watch.rest()]).toString(),
    failed: watch.failed,
    complete: watch.complete,
  };
}

const inJson = JSON.stringify(credential).slice(1, -1);
const unicode = [...credential].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
const error = `{"message":"you sent ${inJson}","code":401}`;
const delta = '"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]';

const chat: readonly (readonly [name: string, event: string])[] = [
  ['error first', `data: {"error":${error}}\n\n`],
  ['blank before the value', `data: {"error" : ${error}}\n\n`],
  ['no blank behind data:', `data:{"error":${error}}\n\n`],
  ['CRLF', `data: {"error":${error}}\r\n\r\n`],
  ['CR', `data: {"error":${error}}\r\r`],
  ['several data lines', `data: {"id":"1",\ndata: "error":\ndata: ${error}}\n\n`],
  ['an event name', `event: error\ndata: {"error":${error}}\n\n`],
  [
    'OpenRouter’s',
    `data: {"id":"gen-1","object":"chat.completion.chunk","error":${error},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}\n\n`,
  ],
  ['in a choice', `data: {"choices":[{"index":0,"delta":{},"error":${error}}]}\n\n`],
  [
    'finish_reason: error',
    `data: {"choices":[{"index":0,"delta":{"content":"${inJson}"},"finish_reason":"error"}]}\n\n`,
  ],
  [
    'finish_reason: abort',
    `data: {"choices":[{"index":0,"delta":{"content":"${inJson}"},"finish_reason":"abort"}]}\n\n`,
  ],
  ['vLLM’s', `data: {"object":"error","message":"${inJson}"}\n\n`],
  ['flat', `data: {"type":"error","message":"${inJson}"}\n\n`],
  ['an event name alone', `event: error\ndata: {"detail":"${inJson}"}\n\n`],
  ['an event name alone, CRLF', `event: error\r\ndata: {"detail":"${inJson}"}\r\n\r\n`],
  ['a text', `data: {"id":1,"error":"you sent ${inJson}"}\n\n`],
  ['an escaped name', `data: {"\\u0065rror":${error}}\n\n`],
  ['behind content in one piece', `data: {${delta}}\n\ndata: {"id":1,"error":${error}}\n\n`],
  ['no blank line behind it', `data: {"id":1,"error":${error}}\n`],
  ['every character escaped', `data: {"id":1,"error":{"message":"${unicode}"}}\n\n`],
  ['JSON in JSON', `data: {"id":1,"error":{"message":${JSON.stringify(`{"a":"${inJson}"}`)}}}\n\n`],
  ['percent-encoded', `data: {"id":1,"error":{"message":"${encodeURIComponent(credential)}"}}\n\n`],
];
const messages: typeof chat = [
  ['as documented', `event: error\ndata: {"type":"error","error":${error}}\n\n`],
  ['no event name', `data: {"type":"error","error":${error}}\n\n`],
  ['type not first', `data: {"error":${error},"type":"error"}\n\n`],
  ['type not first, no error', `data: {"message":"${inJson}","type":"error"}\n\n`],
  ['type behind a request id', `data: {"request_id":"1", "type" : "error","error":${error}}\n\n`],
  ['no type', `data: {"error":${error}}\n\n`],
  ['another name', `event: ping\ndata: {"a":1,"type":"error","error":${error}}\n\n`],
];
const responses: typeof chat = [
  ...messages,
  ['flat', `event: error\ndata: {"type":"error","code":"x","message":"${inJson}"}\n\n`],
  ['failed', `event: response.failed\ndata: {"type":"response.failed","response":{"error":${error}}}\n\n`],
  ['failed, type last', `data: {"response":{"error":${error}},"type":"response.failed"}\n\n`],
];

const spellings = [credential, inJson, unicode, encodeURIComponent(credential), '4711'];

describe.each([
  ['chat', chat],
  ['completions', chat],
  ['messages', messages],
  ['responses', responses],
] as const)('an error in the middle of a stream of %s', (format, events) => {
  test.each(events)('%s: is a failure, and the credential is masked, however it is cut', (_name, event) => {
    const before = format === 'chat' || format === 'completions' ? `data: {${delta}}\n\n` : ': hi\n\n';
    const bytes = Buffer.from(event);
    for (const at of [0, 3, 9, 12, Math.floor(bytes.length / 2), bytes.length - 2]) {
      const { text, failed, complete } = followed(format, before, bytes.subarray(0, at), bytes.subarray(at));
      expect({ failed, complete }, `cut at ${at}`).toEqual({ failed: true, complete: true });
      for (const spelling of spellings) expect(text).not.toContain(spelling);
      expect(text.startsWith(before)).toBe(true);
    }
  });
});

test('an event that cannot be read is masked too, and is no failure of itself', () => {
  const { text, failed } = followed('chat', `data: {"error":{"message":"${inJson}\n\n`);
  expect(text).not.toContain('4711');
  expect(failed).toBe(false);
});

describe('what is no error goes out byte for byte', () => {
  test.each<readonly [CallerFormat, string]>([
    ['chat', `data: {${delta},"error":null}\n\n`],
    ['chat', `data: {"error":null,${delta}}\n\n`],
    ['chat', `data: {"error" : null ,${delta}}\n\n`],
    ['chat', 'data: {"choices":[{"index":0,"delta":{"content":"{\\"error\\": \\"sk-node\\"}"}}]}\n\n'],
    ['chat', 'data: {"choices":[{"index":0,"delta":{"content":"caf\\u00e9 \\u0061"},"error":null}]}\n\n'],
    ['messages', 'event: ping\ndata: {"type":"ping","error":null}\n\n'],
    [
      'messages',
      'data: {"index":0,"type":"content_block_delta","delta":{"type":"text_delta","text":"error"}}\n\n',
    ],
    ['responses', 'data: {"type":"response.created","response":{"error":null}}\n\n'],
    [
      'responses',
      'data: {"type":"response.output_item.done","item":{"type":"mcp_call","error":{"code":1}}}\n\n',
    ],
  ])('%s: %s', (format, event) => {
    expect(followed(format, event)).toMatchObject({ text: event, failed: false, complete: false });
  });
});

describe('the end of an answer', () => {
  test.each<readonly [CallerFormat, string]>([
    ['chat', 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'],
    ['chat', 'data: {"choices":[{"index":0,"delta":{},"finish_reason" : "length"}]}\n\n'],
    ['chat', 'data: [DONE]\n\n'],
    ['chat', 'data: [DONE]'],
    ['messages', 'data: {"a":1,"type":"message_stop"}\n\n'],
    ['responses', 'data: {"response":{"error":null},"sequence_number":7,"type":"response.completed"}\n\n'],
    ['responses', 'event: response.incomplete\ndata: {"a":1}\n\n'],
  ])('%s: %s is seen, whatever comes behind it', (format, event) => {
    expect(followed(format, event)).toMatchObject({ text: event, failed: false, complete: true });
    if (event.endsWith('\n')) {
      expect(followed(format, event, ...Array.from({ length: 10 }, () => ': ping\n\n')).complete).toBe(true);
    }
  });
});
