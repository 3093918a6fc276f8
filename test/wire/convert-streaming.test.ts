import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';
import { readMessagesStream } from './grammar/messages.ts';
import { readResponsesStream, responseProblems } from './grammar/responses.ts';

let gateway: GatewayUnderTest;
let node: ScriptedUpstream;

const bodies = {
  '/messages': { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
  '/responses': { model: 'm', input: 'Hello' },
  '/completions': { model: 'm', prompt: 'Hello' },
} as const;
type Path = keyof typeof bodies;
const everyPath: readonly Path[] = ['/messages', '/responses', '/completions'];
const ask = (path: Path, more: object = {}, init?: RequestInit) =>
  gateway.post(path, { ...bodies[path], ...more }, init);

beforeEach(async () => {
  gateway = await startGateway({ limits: { convertedBytes: 1024 * 1024 } });
  node = await gateway.addNode('n');
});
afterEach(() => gateway.close());

const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const events = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Grüße ' }),
  chunk({ content: '世界 🌍' }),
  chunk({}, 'stop'),
  { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
];
const stream = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
const said = 'Grüße 世界 🌍';
const json = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

/** What a stream of any of the formats says, checked by its grammar. */
function textOf(path: Path, text: string): string {
  if (path === '/messages') {
    const { content, stopReason } = readMessagesStream(text);
    expect(stopReason).toBe('end_turn');
    return String((content[0] as { text: string }).text);
  }
  if (path === '/responses') {
    const { problems, response } = readResponsesStream(text);
    expect(problems).toEqual([]);
    return (response as unknown as { output: [{ content: [{ text: string }] }] }).output[0].content[0].text;
  }
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
  const chunks = text.split('\n\n').filter((line) => line.startsWith('data: {'));
  return chunks.map((line) => JSON.parse(line.slice(6)).choices[0]?.text ?? '').join('');
}

const unfinishedError: Behaviour = {
  kind: 'run',
  run: ({ response }) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.write('{"error":');
  },
};

const bytewise = (body: string): Behaviour => ({
  kind: 'run',
  run: async ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const byte of Buffer.from(body)) {
      response.write(Buffer.of(byte));
      if (byte % 7 === 0) await new Promise(setImmediate);
    }
    response.end();
  },
});

describe.each<[string, Behaviour]>([
  ['in one piece', { kind: 'answer', headers: { 'content-type': 'text/event-stream' }, body: stream }],
  ['byte by byte', bytewise(stream)],
  ['with CRLF and comments', bytewise(`\uFEFF: hello\r\n\r\n${stream.replaceAll('\n', '\r\n')}`)],
  [
    'without a space or [DONE]',
    bytewise(stream.replaceAll('data: ', 'data:').replace('data:[DONE]\n\n', '')),
  ],
  ['labelled as JSON', { kind: 'answer', body: stream }],
  ['as JSON', { kind: 'answer', body: json }],
  [
    'as JSON labelled as a stream',
    { kind: 'answer', headers: { 'content-type': 'text/event-stream' }, body: json },
  ],
])('the node answers %s', (_name, behaviour) => {
  test.each(everyPath)('%s: a stream is a stream and a reply is a reply', async (path) => {
    node.respondWith('/chat/completions', behaviour);
    const streamed = await ask(path, { stream: true });
    expect(streamed.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(textOf(path, await streamed.text())).toBe(said);
    const plain = await ask(path);
    expect(plain.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const body = (await plain.json()) as Record<string, unknown>;
    expect(JSON.stringify(body)).toContain(said);
    if (path === '/responses') expect(responseProblems(body)).toEqual([]);
  });
});

test('every piece of the node is one write to the caller, before the node sends the next', async () => {
  const taken = Array.from({ length: events.length }, () => Promise.withResolvers<void>());
  node.respondWith('/chat/completions', {
    kind: 'run',
    run: async ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [index, event] of events.entries()) {
        // The first event is held back until there is content.
        if (index > 1) await taken[index - 2]?.promise;
        response.write(`data: ${JSON.stringify(event)}\n\n`);
        await delay(10);
      }
      response.end('data: [DONE]\n\n');
    },
  });
  const answer = await ask('/messages', { stream: true });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const first = await reader.read();
  taken[0]?.resolve();
  const text = Buffer.from(first.value ?? []).toString();
  expect(text).toContain('message_start');
  expect(text).toContain('Grüße');
  let pieces = 1;
  for (let next = await reader.read(); next.done === false; next = await reader.read()) {
    taken[pieces]?.resolve();
    pieces += 1;
  }
  expect(pieces).toBeLessThanOrEqual(4);
});

test('a caller that does not read stops the node', async () => {
  const piece = `data: ${JSON.stringify(chunk({ content: 'x'.repeat(16_000) }))}\n\n`;
  node.respondWith('/chat/completions', {
    kind: 'endlessBody',
    piece,
    headers: { 'content-type': 'text/event-stream' },
  });
  const body = JSON.stringify({ ...bodies['/messages'], stream: true });
  const socket = connect(gateway.port, '127.0.0.1');
  socket.pause();
  socket.write(
    `POST /v1/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await node.waitFor((requests) => requests.length === 1);
  const sent = () => node.requests[0]?.sentBytes() ?? 0;
  let before = -1;
  for (let i = 0; i < 100 && sent() !== before; i++) {
    before = sent();
    await delay(100);
  }
  await delay(300);
  expect(sent()).toBe(before);
  let read = 0;
  socket.on('data', (bytes: Buffer) => (read += bytes.length));
  socket.resume();
  await delay(300);
  expect(sent()).toBeGreaterThan(before);
  expect(read).toBeGreaterThan(0);
  socket.destroy();
  await node.waitFor(([request]) => request?.clientGoneTime !== undefined);
});

test('a plain answer without end is given up', async () => {
  node.respondWith('/chat/completions', { kind: 'endlessBody' });
  const answer = await ask('/responses');
  expect(answer.status).toBe(502);
  expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining('too large') } });
  await node.waitFor(([request]) => request?.clientGoneTime !== undefined);
});

describe('a caller that leaves', () => {
  test.each<[string, object, Behaviour]>([
    ['plain, before the head', {}, { kind: 'hang' }],
    ['plain, in the body', {}, { kind: 'slowBody', body: '   ', everyMilliseconds: 2000 }],
    ['plain, in the body of an error', {}, unfinishedError],
    ['streamed, in the body of an error', { stream: true }, unfinishedError],
    ['streamed, before the head', { stream: true }, { kind: 'hang' }],
    ['streamed, before content', { stream: true }, { kind: 'hangAfterHead' }],
    ['streamed, after content', { stream: true }, { kind: 'hangMidStream', chunks: 2 }],
  ])('%s: the node is left at once', async (_name, more, behaviour) => {
    const leave = async (path: Path): Promise<number> => {
      node.respondWith('/chat/completions', behaviour);
      const before = node.requests.length;
      const abort = new AbortController();
      const answer = ask(path, more, { signal: abort.signal })
        .then((got) => got.text())
        .catch(() => undefined);
      await node.waitFor((requests) => requests[before]?.bodyComplete === true);
      await delay(80);
      const left = performance.now();
      abort.abort();
      await node.waitFor((requests) => requests[before]?.clientGoneTime !== undefined);
      await answer;
      return (node.requests[before]?.clientGoneTime ?? Number.POSITIVE_INFINITY) - left;
    };
    for (const path of everyPath) {
      // A busy machine may be late once; a gateway that waits is late each time.
      let latest = await leave(path);
      for (let again = 0; again < 5 && latest >= 100; again++) latest = await leave(path);
      expect(latest).toBeLessThan(100);
    }
    expect(new Set(gateway.done.map(({ status }) => status))).toEqual(new Set([499]));
    expect(gateway.gateway.openCircuits()).toBe(0);
    expect(gateway.gateway.inFlight()).toBe(0);
  });
});

test('the connection of a converted stream serves the next request', async () => {
  for (let i = 0; i < 3; i++) textOf('/messages', await (await ask('/messages', { stream: true })).text());
  await (await ask('/responses')).json();
  expect(new Set(node.requests.map(({ connection }) => connection)).size).toBe(1);
});

test('a node that says more after the end is not listened to', async () => {
  node.respondWith('/chat/completions', {
    kind: 'run',
    run: async ({ response, signal }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(stream);
      while (!signal.aborted) {
        response.write(stream);
        await delay(1);
      }
    },
  });
  expect(textOf('/messages', await (await ask('/messages', { stream: true })).text())).toBe(said);
  await node.waitFor(([request]) => request?.clientGoneTime !== undefined);
});

test('an image of a megabyte and a tool call of a megabyte pass', async () => {
  const args = JSON.stringify({ text: 'y'.repeat(1_000_000) });
  node.respondWith('/chat/completions', {
    kind: 'run',
    run: ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } };
      response.write(`data: ${JSON.stringify(chunk({ tool_calls: [call] }))}\n\n`);
      for (let at = 0; at < args.length; at += 1000) {
        const piece = { index: 0, function: { arguments: args.slice(at, at + 1000) } };
        response.write(`data: ${JSON.stringify(chunk({ tool_calls: [piece] }))}\n\n`);
      }
      response.end(`data: ${JSON.stringify(chunk({}, 'tool_calls'))}\n\ndata: [DONE]\n\n`);
    },
  });
  const image = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(1_000_000) };
  const content = [{ type: 'image', source: image }];
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  const answer = await ask('/messages', { messages: [{ role: 'user', content }], tools, stream: true });
  const { content: got, stopReason } = readMessagesStream(await answer.text());
  expect(stopReason).toBe('tool_use');
  expect((got[0] as { input: { text: string } }).input.text).toHaveLength(1_000_000);
  expect(node.requests[0]?.body.length).toBeGreaterThan(1_000_000);
});

test('what converted requests and answers hold is bounded for all together, and given back', async () => {
  const small = await startGateway({ limits: { bufferedBytes: 44_000, bodyBytes: 40_000 } });
  try {
    const other = await small.addNode('n');
    const post = (size: number) =>
      small.post('/messages', {
        ...bodies['/messages'],
        messages: [{ role: 'user', content: 'x'.repeat(size) }],
      });
    for (let i = 0; i < 20; i++) expect((await post(10_000)).status).toBe(200);
    const busy = await post(20_000);
    expect(busy.status).toBe(429);
    expect(busy.headers.get('retry-after')).toBe('1');
    const answer = { ...JSON.parse(json), padding: 'y'.repeat(45_000) };
    other.respondWith('/chat/completions', { kind: 'answer', body: answer });
    for (let i = 0; i < 6; i++) expect((await post(10)).status).toBe(429);
    expect(small.gateway.openCircuits()).toBe(0);
    other.respondWith('/chat/completions', undefined);
    for (let i = 0; i < 3; i++) expect((await post(10_000)).status).toBe(200);
  } finally {
    await small.close();
  }
});
