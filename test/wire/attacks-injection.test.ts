import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parseStored } from '../../src/resources/parse.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { rawExchange } from '../support/raw-http.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

// Texts of callers, nodes and manifests that try to become something else: a header, a line of the log, a control sequence of
// the terminal that shows them, or a member of every object (`__proto__`).
let gateway: GatewayUnderTest;
let chat: ScriptedUpstream;
let native: ScriptedUpstream;

/** Would begin another line, answer, log record or command, wherever it is not written as a text. */
const nasty =
  'a\r\nx-forged: 1\r\n\r\nHTTP/1.1 200 OK\n{"level":"error","msg":"forged"}\u0000\u001b[2J\u009b2K\u2028\u202e';
/** The same as a manifest lets pass: no control characters of ASCII. */
const passing = 'a "x"\\ü€\u{1f600}\u009b2K\u2028\u202e {x} , ; = é';
const prototypes = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];

beforeAll(async () => {
  gateway = await startGateway({ accessLog: 'all', logLevel: 'debug' });
  const models = [
    { name: 'm', aliases: [passing, ...prototypes.map((name) => `alias-${name}`)] },
    ...prototypes.map((name) => ({ name })),
  ];
  const manualModels = ['m', ...prototypes];
  native = await gateway.addNode('native', {
    spec: { nativeFormats: ['Messages'], models, manualModels },
  });
  chat = await gateway.addNode('chat', {
    spec: { manualModels: ['c'], models: [{ name: 'c', aliases: [`c ${passing}`] }] },
  });
});
afterAll(async () => {
  // One record on each line, each of our own, nothing in it that a terminal obeys.
  const text = gateway.logged.join('');
  expect(text).not.toMatch(/(?!\n)\p{Cc}|\p{Zl}|\p{Zp}|\p{Bidi_Control}/u);
  for (const line of text.split('\n').slice(0, -1)) {
    expect(JSON.parse(line)).toMatchObject({ role: 'test', msg: expect.not.stringContaining('forged') });
  }
  // Nobody taught every object something new.
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect((await gateway.post('/chat/completions', { model: 'm' })).status).toBe(200);
  await gateway.close();
});

/** The answer as bytes: its head may hold nothing of what was sent, whatever a client would make of it. */
async function rawPost(path: string, body: string, fields: readonly string[] = []): Promise<string> {
  const head = [`POST /v1${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${gateway.key}`, ...fields];
  const length = `content-length: ${Buffer.byteLength(body)}`;
  const text = await rawExchange(
    gateway.port,
    [...head, length, 'connection: close', '', body].join('\r\n'),
    5_000,
  );
  const [answerHead = ''] = text.split('\r\n\r\n', 1);
  expect(answerHead).not.toMatch(/^x-forged|(?![\r\n])\p{Cc}/imu);
  expect(
    answerHead
      .split('\r\n')
      .slice(1)
      .every((line) => /^[a-z0-9-]+: [\x20-\x7e]*$/i.test(line)),
  ).toBe(true);
  expect(text.match(/^HTTP\/1\.1 \d{3}/gm)).toHaveLength(1);
  return text;
}

describe('from callers', () => {
  test.each(['/chat/completions', '/messages', '/completions', '/responses', '/embeddings'])(
    'a model that would be headers: %s',
    async (path) => {
      const text = await rawPost(path, JSON.stringify({ model: nasty, messages: [], input: 'x' }));
      expect(text).toMatch(/^HTTP\/1\.1 404 /);
      const body = JSON.parse(text.split('\r\n\r\n')[1] ?? '') as { error: { message: string } };
      expect(body.error.message).toContain('x-forged: 1');
    },
  );

  test('a path and an id that would be', async () => {
    const nastyPath = encodeURIComponent(nasty);
    for (const path of [`/models/${nastyPath}`, `/${nastyPath}`, `/keys/${nastyPath}`]) {
      const text = await rawExchange(
        gateway.port,
        `GET /v1${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\nconnection: close\r\n\r\n`,
      );
      expect(text).toMatch(/^HTTP\/1\.1 40[34] /);
      expect(text.split('\r\n\r\n')[0]).not.toMatch(/^x-forged/im);
    }
  });

  test('names of fields that a conversion cannot carry are named in a header, as far as that may say them', async () => {
    const odd = Object.fromEntries([nasty, 'é', '__proto__x', 'constructor', ','].map((name) => [name, 1]));
    const body = { model: 'c', max_tokens: 1, messages: [{ role: 'user', content: 'a' }], ...odd };
    const text = await rawPost('/messages', JSON.stringify(body));
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    const dropped = /^x-model-gateway-dropped: (.*)\r$/m.exec(text)?.[1] ?? '';
    expect(dropped.split(', ')).toEqual(expect.arrayContaining(['?', '__proto__x', 'constructor']));
    expect(dropped).toContain('a??x-forged??1');
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, index) => [`${index}${'x'.repeat(200)}`, 1]),
    );
    const bounded = await rawPost('/messages', JSON.stringify({ ...body, ...many }));
    expect(/^x-model-gateway-dropped: .*$/m.exec(bounded)?.[0].length).toBeLessThan(4_000);
  });

  test('a header of a caller or node that must not pass never does, whatever its name', async () => {
    const fields = [
      'x-model-gateway-node: default/forged',
      'x-request-id: forged',
      'x-forged: 1',
      'x-forwarded-host: evil.example',
      'anthropic-beta: a\tb \x80\xff',
      'openai-beta: é',
      '__proto__: polluted',
    ];
    await rawPost('/chat/completions', '{"model":"m"}', fields);
    const { headers } = native.requests.at(-1) ?? expect.unreachable('nothing came');
    expect(JSON.stringify(headers)).not.toMatch(/forged|evil|polluted/);
    expect(headers.host).toBe(`127.0.0.1:${native.port}`);
  });

  test.each(prototypes)('a model, an alias or a field named %s is treated like any other', async (name) => {
    for (const model of [name, `alias-${name}`]) {
      const answer = await gateway.post('/chat/completions', { model, messages: [] });
      expect(answer.status).toBe(200);
      expect(native.requests.at(-1)?.body.toString()).toContain(`"model":"${model === name ? name : 'm'}"`);
    }
    expect((await gateway.post('/chat/completions', { model: `${name}x` })).status).toBe(404);
    const restricted = gateway.addKey({ models: ['c'] });
    const refused = await fetch(`${gateway.baseURL}/models/${name}`, {
      headers: { authorization: `Bearer ${restricted}` },
    });
    expect(refused.status).toBe(403);
    const asAuthorization = await fetch(`${gateway.baseURL}/models`, {
      headers: { authorization: `Bearer ${name}` },
    });
    expect(asAuthorization.status).toBe(401);
    // In a body that is converted: by name, nested, and as a tool's own name and arguments.
    const evil = `{"${name}":{"polluted":true,"enumerable":true,"value":1}}`;
    const body = `{"model":"c","max_tokens":1,"${name}":${evil},"metadata":${evil},"system":"s",
      "messages":[{"role":"user","content":[{"type":"text","text":"a","${name}":${evil}}]}],
      "tools":[{"name":"${name}","input_schema":{"type":"object","properties":${evil}}}],
      "tool_choice":{"type":"tool","name":"${name}"}}`;
    const converted = await gateway.post('/messages', body);
    expect(converted.status).toBe(200);
    const sent = JSON.parse(chat.requests.at(-1)?.body.toString() ?? '') as {
      tools: { function: { name: string; parameters: { properties: object } } }[];
    };
    expect(Object.hasOwn(sent.tools[0]?.function.parameters.properties ?? {}, name)).toBe(true);
    for (const path of ['/responses', '/completions']) {
      const answer = await gateway.post(
        path,
        `{"model":"c","input":"a","prompt":"a","${name}":${evil},"metadata":${evil}}`,
      );
      expect(answer.status).toBeLessThan(500);
    }
    const master = gateway.addKey({}, { kind: 'MasterKey' });
    const made = await gateway.post('/keys', `{"name":"a","${name}":${evil}}`, {
      headers: { authorization: `Bearer ${master}` },
    });
    expect(made.status).toBe(400);
  });

  test('members that are there twice are read once, and as the node will read them', async () => {
    // The last one counts, as for every JSON.parse; where the model is concerned nothing may be there twice.
    const twice =
      '{"model":"c","max_tokens":1,"messages":[{"role":"user","content":"first"}],"messages":[{"role":"user","content":"last"}]}';
    expect((await gateway.post('/messages', twice)).status).toBe(200);
    expect(chat.requests.at(-1)?.body.toString()).not.toContain('first');
    for (const model of [
      '"model":"m","model":"other"',
      '"model":"m","Model":"other"',
      '"model":"m","\\u006dodel":"other"',
      '"MODEL":"m"',
      '"model":"m","mode\\u006c":"m"',
    ]) {
      const answer = await gateway.post('/chat/completions', `{${model}}`);
      expect(answer.status, model).toBe(400);
    }
    const limited = gateway.addKey({ models: ['m'] });
    for (const more of [
      '"models":["c"]',
      '"Fallbacks":["c"]',
      '"fallback\\u0073":["c"]',
      '"model\u017f":["c"]',
    ]) {
      const answer = await gateway.post('/chat/completions', `{"model":"m",${more}}`, {
        headers: { authorization: `Bearer ${limited}` },
      });
      expect(answer.status, more).toBe(400);
    }
  });
});

describe('from nodes', () => {
  afterEach(() => {
    for (const path of ['/chat/completions', '/messages'] as const) {
      chat.respondWith(path, { kind: 'well' });
      native.respondWith(path, { kind: 'well' });
    }
  });

  test('errors and ids of a node are passed on as texts', async () => {
    const error = { message: nasty, type: nasty, code: nasty, param: nasty };
    for (const model of ['c', 'm']) {
      for (const status of [400, 422, 500]) {
        for (const upstream of [chat, native]) {
          for (const path of ['/chat/completions', '/messages'] as const) {
            upstream.respondWith(path, { kind: 'answer', status, body: { error } });
          }
        }
        for (const path of ['/messages', '/chat/completions']) {
          const text = await rawPost(
            path,
            JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'a' }] }),
          );
          expect(text).toMatch(/^HTTP\/1\.1 (?:400|422|500|502|529) /);
          expect(() => JSON.parse(text.split('\r\n\r\n').slice(1).join('\r\n\r\n')) as unknown).not.toThrow();
        }
      }
    }
  });

  test.each(prototypes)('a tool, an id, a field of theirs called %s is one like any other', async (name) => {
    const evil = `{"${name}":{"polluted":true}}`;
    const call = (index: number) =>
      `{"index":${index},"id":"${name}","type":"function","function":{"name":"${name}","arguments":${JSON.stringify(evil)}}}`;
    const usage = `{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"${name}":{"polluted":true},"prompt_tokens_details":${evil}}`;
    const plain = `{"id":"${name}","object":"chat.completion","${name}":${evil},"model":"${name}","usage":${usage},"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"${name}":${evil},"tool_calls":[${call(0)},${call(1)}]}}]}`;
    const chunk = (delta: string, reason: string) =>
      `data: {"id":"${name}","object":"chat.completion.chunk","model":"c","${name}":${evil},"usage":${usage},"choices":[{"index":0,"delta":${delta},"finish_reason":${reason}}]}\n\n`;
    const stream = `${chunk(`{"role":"assistant","${name}":${evil},"tool_calls":[${call(0)},${call(1)}]}`, 'null')}${chunk('{}', '"tool_calls"')}data: [DONE]\n\n`;
    const body = {
      model: 'c',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'a' }],
      input: 'a',
      prompt: 'a',
    };
    for (const path of ['/messages', '/responses', '/completions']) {
      for (const streamed of [false, true]) {
        const [type, text] = streamed ? ['text/event-stream', stream] : ['application/json', plain];
        chat.respondWith('/chat/completions', {
          kind: 'raw',
          bytes: `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nconnection: close\r\n\r\n${text}`,
        });
        const { messages, input, prompt, ...more } = body;
        const asked =
          path === '/messages'
            ? { ...more, messages }
            : path === '/responses'
              ? { ...more, max_tokens: undefined, input }
              : { ...more, prompt };
        const answer = await gateway.post(path, { ...asked, stream: streamed });
        const told = await answer.text();
        expect(answer.status, told).toBe(200);
        if (path === '/messages') expect(told).toContain(`"name":"${name}"`);
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
      }
    }
  });

  test('a converted stream of a node cannot end an event early', async () => {
    const delta = {
      id: nasty,
      model: nasty,
      choices: [{ index: 0, delta: { role: 'assistant', content: nasty }, finish_reason: null }],
    };
    const last = { ...delta, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    const bytes = [delta, last].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    chat.respondWith('/chat/completions', {
      kind: 'raw',
      bytes: `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${bytes}data: [DONE]\n\n`,
    });
    const answer = await gateway.post('/messages', {
      model: 'c',
      max_tokens: 1,
      stream: true,
      messages: [{ role: 'user', content: 'a' }],
    });
    const events = (await answer.text()).trimEnd().split('\n\n');
    for (const event of events) expect(event).toMatch(/^event: [a-z_]+\ndata: \{.*\}$/);
    const said = events.map(
      (event) => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as { delta?: { text?: string } },
    );
    expect(said.map(({ delta: part }) => part?.text ?? '').join('')).toBe(nasty);
  });
});

describe('from manifests', () => {
  const node = (name: string, spec: object) =>
    parseStored({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'UpstreamNode',
      metadata: { namespace: 'default', name, uid: 'u' },
      spec: { baseURL: 'http://a.example/v1', ...spec },
    });

  test.each<[what: string, name: string, spec: object]>([
    ['a name', 'a\r\nx-forged: 1', {}],
    ['a name', '../../default/secrets', {}],
    ['a model', 'n', { manualModels: [nasty] }],
    ['an alias', 'n', { models: [{ name: 'm', aliases: [nasty] }] }],
    ['a name for people', 'n', { displayName: nasty }],
    ['a path', 'n', { baseURL: 'http://a.example/v1\r\nx-forged: 1' }],
    ['a path with a blank', 'n', { baseURL: 'http://a.example/v1 HTTP/1.1' }],
    ['a header’s value', 'n', { headers: [{ name: 'x-a', value: 'a\r\nx-forged: 1' }] }],
    ['a header’s value with a NUL', 'n', { headers: [{ name: 'x-a', value: 'a\u0000' }] }],
    ['a header’s name', 'n', { headers: [{ name: 'x-a: 1\r\nx-forged', value: 'a' }] }],
    ['a header that frames', 'n', { headers: [{ name: 'Transfer-Encoding', value: 'chunked' }] }],
    ['a header that measures', 'n', { headers: [{ name: 'CONTENT-LENGTH', value: '0' }] }],
    ['a header that names the host', 'n', { headers: [{ name: 'hOst', value: 'evil.example' }] }],
    ['a Secret elsewhere', 'n', { apiKeySecretRef: { name: '../other/secrets/x' } }],
    ['a Secret’s entry', 'n', { apiKeySecretRef: { name: 'x', key: '../../x' } }],
    ['a server name', 'n', { tls: { serverName: 'a\u0000b' } }],
    ['a namespace', 'n', { callerNamespaces: { from: 'Names', names: ['*'] } }],
  ])('%s that would be more is refused: %j', (_what, name, spec) => {
    expect(node(name, spec)).toHaveProperty('problems');
  });

  test('names of any script serve, and stay what they are', async () => {
    const answer = await gateway.post('/chat/completions', { model: passing, messages: [] });
    await answer.text();
    const text = await rawPost(
      '/messages',
      JSON.stringify({ model: `c ${passing}`, max_tokens: 1, messages: [{ role: 'user', content: 'a' }] }),
    );
    expect(text).toMatch(/^x-model-gateway-node: default\/chat\r$/m);
    const listed = await fetch(`${gateway.baseURL}/models`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    expect(JSON.stringify(await listed.json())).toContain(JSON.stringify(passing).slice(1, -1));
    expect(gateway.logged.some((line) => JSON.parse(line).model === `c ${passing}`)).toBe(true);
  });
});
