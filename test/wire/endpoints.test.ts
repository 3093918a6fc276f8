import OpenAI, { toFile } from 'openai';
import OpenAIPrevious, { toFile as toFilePrevious } from 'openai-previous';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/routing/caller-format.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let node: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway({ limits: { keepAliveMs: 50 } });
  node = await gateway.addNode('n', { spec: { models: [{ name: 'm', aliases: ['fast'] }] } });
});
afterEach(() => gateway.close());

const wav = Buffer.from('RIFF\r\n--\r\n\0\u00ff not text', 'latin1');

/** What the node received as its last request, read by a parser of its own. */
async function received(): Promise<FormData> {
  const { headers, body } = node.requests.at(-1) ?? { headers: {}, body: Buffer.alloc(0) };
  expect(headers['content-length']).toBe(String(body.length));
  const type = { 'content-type': headers['content-type'] ?? '' };
  return await new Response(new Uint8Array(body), { headers: type }).formData();
}

async function textOf(file: ReturnType<FormData['get']>): Promise<Buffer> {
  if (file === null || typeof file === 'string') throw new Error('not a file');
  return Buffer.from(await file.arrayBuffer());
}

/** A form with the model and a file. */
function form(fields: Record<string, string>, file: Uint8Array = wav): FormData {
  const made = new FormData();
  made.append('file', new Blob([new Uint8Array(file)]), 'a.wav');
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  return made;
}

function post(path: string, body: FormData, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${gateway.key}` };
  return fetch(`${gateway.baseURL}/${path}`, { method: 'POST', headers, body, ...init });
}

describe.each([
  ['openai', OpenAI as unknown as typeof OpenAIPrevious, toFile as unknown as typeof toFilePrevious],
  ['openai, the major version before', OpenAIPrevious, toFilePrevious],
])('%s', (_name, SDK, fileOf) => {
  let client: OpenAIPrevious;
  beforeEach(() => {
    client = new SDK({ baseURL: gateway.baseURL, apiKey: gateway.key, maxRetries: 0 });
  });

  test.each(['m', 'fast'])('images, model %s', async (model) => {
    const made = await client.images.generate({ model, prompt: 'x' });
    expect(made.data?.[0]?.b64_json).toHaveLength(133_336);
    const types: string[] = [];
    for await (const event of await client.images.generate({ model, prompt: 'x', stream: true })) {
      types.push(event.type);
    }
    const image = [await fileOf(wav, 'a.png'), await fileOf(wav, 'b.png')];
    const edited = await client.images.edit({ model, image, prompt: 'Grüße' });
    expect(edited.data).toHaveLength(1);
    const sent = await received();
    expect([sent.get('model'), sent.get('prompt')]).toEqual(['m', 'Grüße']);
    expect(await Promise.all(sent.getAll('image[]').map(textOf))).toEqual([wav, wav]);
    for await (const event of await client.images.edit({ model, image, prompt: 'x', stream: true })) {
      types.push(event.type);
    }
    expect(types).toEqual([
      'image_generation.partial_image',
      'image_generation.completed',
      'image_edit.partial_image',
      'image_edit.completed',
    ]);
  });

  test.each(['m', 'fast'])('speech, model %s', async (model) => {
    const speech = await client.audio.speech.create({ model, voice: 'alloy', input: 'x' });
    expect(speech.headers.get('content-type')).toBe('audio/mpeg');
    // Not in the allowlist of headers.
    expect(speech.headers.get('content-disposition')).toBe(null);
    const bytes = Buffer.from(await speech.arrayBuffer());
    expect(bytes).toEqual(Buffer.concat([0, 1, 2, 3, 4].map((value) => Buffer.alloc(1000, value))));
    const events = await client.audio.speech.create({
      ...{ model, voice: 'alloy', input: 'x' },
      stream_format: 'sse',
    });
    expect(await events.text()).toMatch(
      /^event: speech.audio.delta\n.*\n\nevent: speech.audio.done\n.*\n\n$/,
    );
  });

  test.each(['m', 'fast'])('transcriptions and translations, model %s', async (model) => {
    const file = await fileOf(wav, 'a "b".wav');
    const said = await client.audio.transcriptions.create({ model, file });
    expect(said.text).toBe(`${wav.length} bytes`);
    const sent = await received();
    expect(sent.get('model')).toBe('m');
    expect(await textOf(sent.get('file'))).toEqual(wav);
    const plain = await client.audio.transcriptions.create({ model, file, response_format: 'text' });
    expect(plain).toBe(`${wav.length} bytes\n`);
    const types: string[] = [];
    const stream = await client.audio.transcriptions.create({ model, file, stream: true });
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(['transcript.text.delta', 'transcript.text.done']);
    const translated = await client.audio.translations.create({ model, file });
    expect(translated.text).toBe(`${wav.length} bytes`);
    expect(gateway.done.map(({ route }) => route)).toEqual([
      ...Array.from({ length: 3 }, () => '/v1/audio/transcriptions'),
      '/v1/audio/translations',
    ]);
  });

  test('moderations, which must name a model', async () => {
    const { results } = await client.moderations.create({ model: 'fast', input: 'x' });
    expect(results).toHaveLength(1);
    const error = await client.moderations.create({ input: 'x' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SDK.BadRequestError);
    expect(error).toMatchObject({ code: 'missing_required_parameter', param: 'model' });
  });
});

// Cohere v1 and v2, Jina, vLLM.
test.each([
  { query: 'q', documents: ['a', 'b'], top_n: 1, return_documents: true, max_chunks_per_doc: 10 },
  { query: 'q', documents: ['a', 'b'], top_n: 1, max_tokens_per_doc: 4096, priority: 0 },
  {
    query: { text: 'q' },
    documents: [{ text: 'a' }, { image: 'https://x.example/a.png' }],
    truncation: true,
  },
  { query: 'q', documents: ['a', 'b'], truncate_prompt_tokens: -1, additional_data: null, user: 'u' },
])('rerank: %j', async (asked) => {
  const answer = await gateway.post('/rerank', { model: 'fast', ...asked });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ model: 'm', results: [{ index: 0 }, { index: 1 }] });
  const [request] = node.requests;
  expect([request?.path, JSON.parse(String(request?.body))]).toEqual([
    '/v1/rerank',
    { model: 'm', ...asked },
  ]);
});

test('a node whose base URL names another version is asked below it', async () => {
  gateway.setNode('n', { baseURL: node.url.replace('/v1', '/v2'), manualModels: ['m'] });
  await gateway.post('/rerank', { model: 'm', query: 'q', documents: [] });
  expect(node.requests.map(({ path }) => path)).toEqual(['/v2/rerank']);
});

test.each(endpoints)('%s: JSON and multipart, errors in OpenAI’s format', async (endpoint) => {
  for (const body of [form({ model: 'fast' }), form({ model: 'm' })]) {
    expect((await post(endpoint, body)).status).toBe(200);
    expect((await received()).get('model')).toBe('m');
  }
  expect((await gateway.post(`/${endpoint}`, { model: 'fast' })).status).toBe(200);
  const last = node.requests.at(-1);
  expect([last?.path, String(last?.body)]).toEqual([`/v1/${endpoint}`, '{"model":"m"}']);
  const refused = await post(endpoint, form({ model: 'unknown' }));
  expect([refused.status, await refused.json()]).toMatchObject([404, { error: { code: 'model_not_found' } }]);
  const wrong = await gateway.post(`/${endpoint}`, 'x', { headers: { 'content-type': 'text/plain' } });
  expect([wrong.status, await wrong.json()]).toMatchObject([
    415,
    { error: { code: 'unsupported_media_type' } },
  ]);
  const got = await fetch(`${gateway.baseURL}/${endpoint}`);
  expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
});

test('an endpoint that the node does not have: its 404 in OpenAI’s format, and nothing of it counts against the node', async () => {
  node.respondWith('*', { kind: 'answer', status: 404, body: { detail: 'Not Found' } });
  for (let sent = 0; sent < 10; sent++) {
    const answer = await gateway.post('/rerank', { model: 'm', query: 'q', documents: [] });
    expect([answer.status, await answer.json()]).toMatchObject([404, { error: { message: 'Not Found' } }]);
  }
  node.respondWith('*', undefined);
  expect((await gateway.post('/chat/completions', { model: 'm', messages: [] })).status).toBe(200);
  expect(node.requests).toHaveLength(11);
});

test('another node is tried before the first byte, with the same form', async () => {
  await gateway.addNode('first', { spec: { priority: 90 } }).then((first) => {
    first.respondWith('*', { kind: 'answer', status: 503 });
  });
  const answer = await post('audio/transcriptions', form({ model: 'm' }));
  expect([answer.status, answer.headers.get('x-model-gateway-attempts')]).toEqual([200, '2']);
  expect(await textOf((await received()).get('file'))).toEqual(wav);
});

describe('streams', () => {
  test('an error before the first content goes to the next node', async () => {
    const first = await gateway.addNode('first', { spec: { priority: 90 } });
    first.respondWith('*', { kind: 'errorInStream', chunks: 0, error: { message: 'full', code: 503 } });
    const answer = await post('audio/transcriptions', form({ model: 'm', stream: 'true' }));
    expect(answer.headers.get('x-model-gateway-node')).toBe('default/n');
    expect(await answer.text()).toContain('transcript.text.done');
  });

  test('one that breaks ends with an error event', async () => {
    node.respondWith('*', {
      kind: 'run',
      run: ({ response, reset }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"type":"transcript.text.delta","delta":"a"}\n\n', () => setTimeout(reset, 20));
      },
    });
    const answer = await post('audio/transcriptions', form({ model: 'm', stream: 'true' }));
    expect(await answer.text()).toMatch(/"delta":"a"}\n\ndata: \{"error":\{"message":"The model server/);
  });

  test('vLLM’s chunks', async () => {
    const chunk = { object: 'transcription.chunk', choices: [{ index: 0, delta: { content: 'a' } }] };
    const body = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
    node.respondWith('*', {
      kind: 'answer',
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
      body,
    });
    const answer = await post('audio/transcriptions', form({ model: 'm', stream: 'true' }));
    expect(await answer.text()).toBe(body);
  });

  test('a silent one gets keep-alives, but only once the node has said that it is one', async () => {
    node.respondWith('*', { kind: 'slowFirstByte', milliseconds: 300 });
    const plain = await gateway.post('/images/generations', { model: 'm', prompt: 'x', stream: false });
    expect(plain.headers.get('content-type')).toBe('application/json');
    const ignored = await post(
      'audio/transcriptions',
      form({ model: 'm', stream: 'true', response_format: 'text' }),
    );
    expect(ignored.status).toBe(200);
    node.respondWith('*', {
      kind: 'run',
      run: ({ response }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        setTimeout(() => response.end('data: {"type":"image_generation.completed"}\n\n'), 300);
      },
    });
    const silent = await gateway.post('/images/generations', { model: 'm', prompt: 'x', stream: true });
    expect(await silent.text()).toMatch(
      /^(?:: keepalive\n\n)+data: \{"type":"image_generation.completed"\}\n\n$/,
    );
  });

  test('a model server that answers a wish for a stream with text', async () => {
    const body = 'WEBVTT\n\n"usage":{"prompt_tokens":1000000,"completion_tokens":5}';
    node.respondWith('*', {
      kind: 'slowFirstByte',
      milliseconds: 200,
      next: { kind: 'answer', headers: { 'content-type': 'text/vtt' }, body },
    });
    const answer = await post('audio/transcriptions', form({ model: 'm', stream: 'true' }));
    expect([answer.headers.get('content-type'), await answer.text()]).toEqual(['text/vtt', body]);
    await expect.poll(() => gateway.done).toHaveLength(1);
    // What was said is no count.
    expect(gateway.done[0]?.tokens).toBe(undefined);
  });
});

test('a request that waits for its turn at a full node still gets a plain answer', async () => {
  const concurrency = { maxRequests: 1, queue: { maxRequests: 5, timeoutSeconds: 10 } };
  gateway.setNode('n', { baseURL: node.url, manualModels: ['m'], concurrency });
  node.respondWith('*', { kind: 'slowFirstByte', milliseconds: 300 });
  const body = { model: 'm', query: 'q', documents: ['a'] };
  const answers = await Promise.all([1, 2].map(() => gateway.post('/rerank', body)));
  for (const answer of answers) {
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toMatchObject({ results: [{ index: 0 }] });
  }
});

test('usage and names are recorded', async () => {
  await post('audio/transcriptions', form({ model: 'fast' })).then((answer) => answer.text());
  await expect.poll(() => gateway.done).toHaveLength(1);
  expect(gateway.done[0]).toMatchObject({
    ...{ route: '/v1/audio/transcriptions', status: 200, wanted: 'fast', model: 'm' },
    tokens: { input: 3, output: 4 },
  });
});

test('an encoded binary answer keeps its encoding', async () => {
  const body = Buffer.from([1, 2, 3]);
  node.respondWith('*', {
    kind: 'answer',
    headers: { 'content-type': 'audio/wav', 'content-encoding': 'x-own' },
    body,
  });
  const answer = await gateway.post('/audio/speech', { model: 'm', input: 'x', voice: 'a' });
  expect(answer.headers.get('content-encoding')).toBe('x-own');
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(body);
});

test('a caller that leaves ends the request at the node', async () => {
  node.respondWith('*', { kind: 'endlessBody', headers: { 'content-type': 'audio/mpeg' } });
  const leave = new AbortController();
  const body = JSON.stringify({ model: 'm', input: 'x', voice: 'a' });
  const answer = await gateway.post('/audio/speech', body, { signal: leave.signal });
  await answer.body?.getReader().read();
  leave.abort();
  await node.waitFor(([request]) => request?.clientGoneTime !== undefined);
});
