import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { rawExchange } from '../support/raw-http.ts';
import { answer, type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts';

// If two servers frame the same bytes differently, one caller can add bytes to the request or answer of another (request smuggling).
let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;
/** What the node answers, byte for byte; the connection is closed behind it where `ends`. */
let script: { text: string; ends: boolean };
const good = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'good' } }] });

beforeAll(async () => {
  upstream = await scriptedUpstream((socket) => {
    if (script.ends) socket.end(script.text, 'latin1');
    else socket.write(script.text, 'latin1');
  });
  gateway = await startGateway({ limits: { headersMs: 1_500, bodyIdleMs: 1_000, attempts: 1 } });
  const node = { baseURL: `http://127.0.0.1:${upstream.port}/v1`, manualModels: ['m'] };
  gateway.setNode('n', { ...node, nativeFormats: ['Messages'] });
  gateway.setNode('converting', { ...node, manualModels: ['c'] });
  script = { text: answer(good), ends: false };
});
afterEach(() => {
  script = { text: answer(good), ends: false };
});
afterAll(async () => {
  expect((await gateway.post('/chat/completions', { model: 'm' })).status).toBe(200);
  expect(gateway.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  await gateway.close();
  await upstream[Symbol.asyncDispose]();
});

const smuggled = 'GET /v1/smuggled HTTP/1.1\r\nhost: x\r\n\r\n';
const chat = '{"model":"m","messages":[]}';
const post = (fields: readonly string[], body: string, version = '1.1', end = '\r\n'): string =>
  [
    `POST /v1/chat/completions HTTP/${version}`,
    'host: x',
    `authorization: Bearer ${gateway.key}`,
    ...fields,
    '',
    body,
  ].join(end);
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Statuses of the answers on one connection, in order. */
const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

describe('from callers: nothing is read in two ways', () => {
  const long = `content-length: ${chat.length + smuggled.length}`;
  const te = 'transfer-encoding: chunked';
  const inChunks = `${chunk(chat)}0\r\n\r\n`;
  const refused: [name: string, request: () => string][] = [
    ['a length and chunks', () => post([`content-length: ${chat.length}`, te], `${inChunks}${smuggled}`)],
    ['chunks and a length', () => post([te, 'content-length: 6'], `0\r\n\r\n${smuggled}`)],
    ['two lengths', () => post(['content-length: 27', 'content-length: 0'], chat + smuggled)],
    ['one length twice', () => post(['content-length: 27', 'content-length: 27'], chat + smuggled)],
    ['a list of lengths', () => post(['content-length: 27, 27'], chat + smuggled)],
    ['a length with a sign', () => post(['content-length: +27'], chat + smuggled)],
    ['a negative length', () => post(['content-length: -1'], chat + smuggled)],
    ['a hexadecimal length', () => post(['content-length: 0x1b'], chat + smuggled)],
    ['a length with a blank in it', () => post(['content-length: 2 7'], chat + smuggled)],
    ['a length beyond counting', () => post([`content-length: ${'9'.repeat(25)}`], chat + smuggled)],
    ['a blank before the colon', () => post(['transfer-encoding : chunked', long], inChunks + smuggled)],
    ['a blank before the colon of a length', () => post(['content-length : 27'], chat + smuggled)],
    ['a NUL in a name', () => post(['transfer-encoding\0: chunked', long], inChunks + smuggled)],
    ['a NUL in a value', () => post(['x: a\0b', long], inChunks + smuggled)],
    [
      'another coding behind chunks',
      () => post(['transfer-encoding: chunked, identity'], inChunks + smuggled),
    ],
    ['a coding like chunks', () => post(['transfer-encoding: xchunked', long], chat + smuggled)],
    ['chunks in quotes', () => post(['transfer-encoding: "chunked"', long], chat + smuggled)],
    ['chunks and another one below', () => post([te, 'transfer-encoding: identity'], inChunks + smuggled)],
    ['a folded coding', () => post(['transfer-encoding:\r\n chunked', long], inChunks + smuggled)],
    ['a folded field', () => post(['x: a\r\n transfer-encoding: chunked', long], inChunks + smuggled)],
    ['a line that ends by a return alone', () => post([`x: a\r${te}`, long], inChunks + smuggled)],
    ['a line without a colon', () => post(['transfer-encoding', long], inChunks + smuggled)],
    ['line feeds alone in the head', () => post([long], chat + smuggled, '1.1', '\n')],
    ['a size with a prefix', () => post([te], `0x1b\r\n${chat}\r\n0\r\n\r\n${smuggled}`)],
    ['a negative size', () => post([te], `-1\r\n${smuggled}`)],
    ['a size beyond counting', () => post([te], `${'f'.repeat(17)}\r\n${chat}\r\n0\r\n\r\n${smuggled}`)],
    ['a blank before a size', () => post([te], ` 1b\r\n${chat}\r\n0\r\n\r\n${smuggled}`)],
    ['a size that ends by a line feed', () => post([te], `1b\n${chat}\r\n0\r\n\r\n${smuggled}`)],
    ['an extension with a line feed', () => post([te], `1b;x\n${chat}\r\n0\r\n\r\n${smuggled}`)],
    ['an extension with a return', () => post([te], `1b;x\ry\r\n${chat}\r\n0\r\n\r\n${smuggled}`)],
    [
      'an extension without end',
      () => post([te], `1b;${'x'.repeat(20_000)}\r\n${chat}\r\n0\r\n\r\n${smuggled}`),
    ],
    ['a chunk that is longer than its size', () => post([te], `1a\r\n${chat}\r\n0\r\n\r\n${smuggled}`)],
    ['a length in the trailers', () => post([te], `${chunk(chat)}0\r\ncontent-length: 0\r\n\r\n${smuggled}`)],
    ['a coding in the trailers', () => post([te], `${chunk(chat)}0\r\n${te}\r\n\r\n${smuggled}`)],
    ['HTTP/2', () => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${smuggled}`],
    ['HTTP/1.2', () => post([long], chat + smuggled, '1.2')],
  ];
  test.each(refused)('%s', async (_name, request) => {
    const before = upstream.requests.length;
    const text = await rawExchange(gateway.port, request(), 1_200);
    // At most one answer, a refusal; and nobody ever acts on what was hidden behind it.
    expect(statuses(text).filter((status) => status !== 400 && status !== 413)).toEqual([]);
    expect(statuses(text).length).toBeLessThanOrEqual(1);
    expect(text).not.toContain('smuggled');
    expect(upstream.requests).toHaveLength(before);
  });

  const framed: [name: string, request: () => string][] = [
    ['a length', () => post([`content-length: ${chat.length}`], chat)],
    ['chunks', () => post([te], inChunks)],
    ['chunks in capitals', () => post(['Transfer-Encoding: Chunked'], inChunks)],
    ['chunk extensions', () => post([te], `1b;a="b";c\r\n${chat}\r\n0;d\r\n\r\n`)],
    [
      'trailers that would be headers',
      () =>
        post(
          [te, 'trailer: authorization'],
          `${chunk(chat)}0\r\nauthorization: Bearer x\r\nanthropic-beta: x\r\n\r\n`,
        ),
    ],
  ];
  test.each(framed)(
    '%s: the next request begins where it should, and the node gets a length',
    async (_name, request) => {
      const before = upstream.requests.length;
      const text = await rawExchange(
        gateway.port,
        request() + smuggled.replace('host: x', 'host: x\r\nconnection: close'),
        10_000,
      );
      expect(statuses(text)).toEqual([200, 404]);
      expect(upstream.requests.slice(before)).toHaveLength(1);
      const [head = '', body] = upstream.requests.at(-1)?.split('\r\n\r\n') ?? [];
      expect(body).toBe(chat);
      expect(head.match(/^content-length: .*$/gim)).toEqual(['content-length: 27']);
      expect(head).not.toMatch(/transfer-encoding|trailer|anthropic-beta/i);
    },
  );

  test('a body that looks like a request stays a body, from callers and nodes', async () => {
    const hidden = `{"model":"m","x":"\\r\\n\\r\\n${smuggled.replaceAll('\r\n', '\\r\\n')}"}`;
    const before = upstream.requests.length;
    const text = await rawExchange(
      gateway.port,
      post([`content-length: ${hidden.length}`, 'connection: close'], hidden),
    );
    expect(statuses(text)).toEqual([200]);
    expect(upstream.requests.slice(before)).toHaveLength(1);
    // Refused before its body is read: the body is thrown away, never taken for the next request.
    const refusals = [
      post([`content-length: ${smuggled.length}`], smuggled).replace(gateway.key, 'nobody'),
      post([te], `${chunk(smuggled)}0\r\n\r\n`).replace(gateway.key, 'nobody'),
      `POST /v1/nothing HTTP/1.1\r\nhost: x\r\ncontent-length: ${smuggled.length}\r\n\r\n${smuggled}`,
      `GET /v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: ${smuggled.length}\r\n\r\n${smuggled}`,
    ];
    for (const refusal of refusals) {
      const last = 'HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
      const told = await rawExchange(gateway.port, refusal + last, 10_000);
      expect(statuses(told)[0]).toBeGreaterThanOrEqual(401);
      expect(statuses(told).slice(1)).toEqual(statuses(told).length > 1 ? [200] : []);
      expect(told).not.toContain('smuggled');
    }
  });

  test.each([
    ['an absolute address', 'GET http://evil.example/v1/nothing HTTP/1.1'],
    ['a tunnel', 'CONNECT 169.254.169.254:80 HTTP/1.1'],
    ['an upgrade', 'GET /v1/nothing HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c'],
    ['two slashes', 'GET //v1/keys HTTP/1.1'],
    ['dots', 'GET /v1/models/../keys HTTP/1.1'],
    ['escaped dots', 'GET /v1/models/%2e%2e/keys HTTP/1.1'],
    ['a backslash', 'GET /v1\\keys HTTP/1.1'],
    ['an asterisk', 'OPTIONS * HTTP/1.1'],
    ['TRACE', 'TRACE /v1/keys HTTP/1.1\r\ncookie: planted'],
  ])('%s reaches no other address', async (_name, line) => {
    const before = upstream.requests.length;
    const text = await rawExchange(
      gateway.port,
      `${line}\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\nconnection: close\r\n\r\n`,
      600,
    );
    expect(statuses(text).filter((status) => status < 400)).toEqual([]);
    expect(text).not.toContain('planted');
    expect(upstream.requests).toHaveLength(before);
  });
});

describe('from nodes: nothing is read in two ways', () => {
  const ok = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
  const evil = answer('{"evil":true}');
  const length = `content-length: ${good.length}\r\n`;
  const broken: [name: string, text: string, ends?: boolean][] = [
    ['a length and chunks', `${ok}${length}transfer-encoding: chunked\r\n\r\n${chunk(good)}0\r\n\r\n${evil}`],
    ['two lengths', `${ok}${length}content-length: 1\r\n\r\n${good}${evil}`],
    ['a folded field', `${ok}x: a\r\n ${length}\r\n${good}${evil}`],
    ['line feeds alone', `${ok}${length}\r\n${good}`.replaceAll('\r\n', '\n'), true],
    ['a blank before the colon', `${ok}content-length : 1\r\n\r\n${good}${evil}`],
    ['a length with a sign', `${ok}content-length: +${good.length}\r\n\r\n${good}${evil}`],
    ['a NUL', `${ok}x: \0\r\n${length}\r\n${good}${evil}`],
    [
      'a chunk size that ends by a line feed',
      `${ok}transfer-encoding: chunked\r\n\r\n${good.length.toString(16)}\n${good}\r\n0\r\n\r\n`,
    ],
    ['another version', `HTTP/2 200 OK\r\n${length}\r\n${good}`],
    ['another protocol', `HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n${evil}`],
    ['a head without end', `${ok}${'x: y\r\n'.repeat(20_000)}`],
  ];
  test.each(broken)('%s', async (_name, text, ends = false) => {
    script = { text, ends };
    for (const model of ['m', 'c']) {
      const path = model === 'm' ? '/chat/completions' : '/messages';
      const attacked = await gateway.post(path, {
        model,
        max_tokens: 1,
        messages: [{ role: 'user', content: 'a' }],
      });
      const told = await attacked.text().catch(() => 'cut off');
      expect(attacked.status === 502 || told === 'cut off', told).toBe(true);
      expect(told).not.toContain('evil');
    }
    script = { text: answer(good), ends: false };
    // The connection that lied is gone: the next caller gets the next answer.
    expect(await (await gateway.post('/chat/completions', { model: 'm' })).text()).toBe(good);
  });

  test.each(['at once', 'a moment later'])(
    'an answer that no request asked for, %s, is discarded',
    async (when) => {
      script = { text: answer(good) + (when === 'at once' ? evil : ''), ends: false };
      expect(await (await gateway.post('/chat/completions', { model: 'm' })).text()).toBe(good);
      script = { text: answer(good), ends: false };
      if (when === 'a moment later') {
        // None of the connections that wait for the next request outlives words that nobody asked for.
        const waiting = upstream.sockets.filter((socket) => !socket.destroyed);
        expect(waiting.length).toBeGreaterThan(0);
        for (const socket of waiting) socket.write(evil);
        await eventually('they are closed', () => waiting.every((socket) => socket.destroyed));
      }
      for (let count = 0; count < 3; count += 1) {
        expect(await (await gateway.post('/chat/completions', { model: 'm' })).text()).toBe(good);
      }
    },
  );

  test('fields of a node become fields of the answer only by name, each in its own line', async () => {
    const fields = [
      'x-ratelimit-a: 1',
      'x-ratelimit-__proto__: 2',
      'X-RateLimit-B: \xe9\x80',
      'x-model-gateway-node: default/forged',
      'x-request-id: forged',
      'set-cookie: forged=1',
      'access-control-allow-origin: *',
      'location: http://evil.example',
      'content-disposition: attachment',
      'connection: x-ratelimit-a',
    ];
    script = { text: answer(good, 'HTTP/1.1 200 OK', ...fields), ends: false };
    const text = await rawExchange(gateway.port, post(['content-length: 27', 'connection: close'], chat));
    const [head = ''] = text.split('\r\n\r\n');
    expect(head).not.toMatch(/forged|evil|attachment|access-control/);
    expect(head.match(/^x-ratelimit-\S+/gim)).toEqual([
      'x-ratelimit-a:',
      'x-ratelimit-__proto__:',
      'x-ratelimit-b:',
    ]);
    expect(head.match(/^x-model-gateway-node: .*$/gm)).toEqual(['x-model-gateway-node: default/n']);
  });
});
