import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;
let client: OpenAI;

beforeEach(async () => {
  gateway = await startGateway();
  upstream = await gateway.addNode('n', {
    spec: { nativeFormats: ['Responses', 'Completions'] },
    upstream: { chunks: 4 },
  });
  client = new OpenAI({ baseURL: gateway.baseURL, apiKey: gateway.key, maxRetries: 0 });
});
afterEach(() => gateway.close());

const messages = [{ role: 'user' as const, content: 'Hello' }];
const tools = [
  {
    type: 'function' as const,
    function: { name: 'weather', parameters: { type: 'object', properties: {} } },
  },
];

test('chat: plain and streamed', async () => {
  const plain = await client.chat.completions.create({ model: 'm', messages });
  const text = plain.choices[0]?.message.content ?? '';
  expect(text.length).toBeGreaterThan(5);
  expect(plain._request_id).toMatch(/^req_/);
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({ model: 'm', messages, stream: true })) {
    streamed += chunk.choices[0]?.delta.content ?? '';
  }
  expect(streamed).toBe(text);
  const final = await client.chat.completions.stream({ model: 'm', messages }).finalChatCompletion();
  expect(final.choices[0]?.message.content).toBe(text);
});

test('chat: tools, plain and streamed', async () => {
  const plain = await client.chat.completions.create({ model: 'm', messages, tools });
  expect(plain.choices[0]?.message.tool_calls?.[0]).toMatchObject({
    function: { name: 'weather', arguments: '{"city":"Paris"}' },
  });
  const final = await client.chat.completions.stream({ model: 'm', messages, tools }).finalChatCompletion();
  expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({
    function: { name: 'weather', arguments: '{"city":"Paris"}' },
  });
});

test('responses: plain, streamed, tools', async () => {
  const plain = await client.responses.create({ model: 'm', input: 'Hello' });
  expect(plain.output_text.length).toBeGreaterThan(5);
  const final = await client.responses.stream({ model: 'm', input: 'Hello' }).finalResponse();
  expect(final.output_text).toBe(plain.output_text);
  const tool = { type: 'function' as const, name: 'weather', parameters: {}, strict: false };
  const called = await client.responses.stream({ model: 'm', input: 'Hello', tools: [tool] }).finalResponse();
  expect(called.output[0]).toMatchObject({ type: 'function_call', name: 'weather' });
});

test('completions, embeddings, models', async () => {
  expect((await client.completions.create({ model: 'm', prompt: 'x' })).choices[0]?.text).not.toBe('');
  expect((await client.embeddings.create({ model: 'm', input: ['a', 'b'] })).data).toHaveLength(2);
  const names: string[] = [];
  for await (const model of client.models.list()) names.push(model.id);
  expect(names).toEqual(['m']);
  expect((await client.models.retrieve('m')).object).toBe('model');
});

describe('errors', () => {
  test.each([
    ['AuthenticationError', { apiKey: 'x'.repeat(40) }, 'm'],
    ['NotFoundError', {}, 'unknown'],
  ])('%s', async (name, options, model) => {
    const error = await client
      .withOptions(options)
      .chat.completions.create({ model, messages })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(error).toMatchObject({ code: expect.any(String), requestID: expect.stringMatching(/^req_/) });
    expect((error as Error).constructor.name).toBe(name);
  });

  test('a node’s rate limit, and the SDK’s own retry', async () => {
    const limited = {
      kind: 'answer',
      status: 429,
      headers: { 'retry-after-ms': '5' },
      body: { error: { message: 'slow', code: 'rate_limit_exceeded' } },
    } as const;
    upstream.respondWith('/chat/completions', limited);
    await expect(client.chat.completions.create({ model: 'm', messages })).rejects.toBeInstanceOf(
      OpenAI.RateLimitError,
    );
    upstream.respondWith('/chat/completions', [limited]);
    const answer = await client.chat.completions.create({ model: 'm', messages }, { maxRetries: 2 });
    expect(answer.choices).toHaveLength(1);
  });

  test.each([
    [
      'chat',
      '/chat/completions',
      () => client.chat.completions.stream({ model: 'm', messages }).finalChatCompletion(),
    ],
  ] as const)('a stream that breaks: %s', async (_name, path, run) => {
    upstream.respondWith(path, { kind: 'resetMidStream', chunks: 2 });
    await expect(run()).rejects.toThrow(/closed before the answer was complete/);
  });

  test('a responses stream that breaks', async () => {
    upstream.respondWith('/responses', {
      kind: 'run',
      run: async ({ response }) => {
        const created = {
          type: 'response.created',
          sequence_number: 0,
          response: { id: 'resp_1', object: 'response', output: [] },
        };
        const item = {
          type: 'response.web_search_call.in_progress',
          sequence_number: 1,
          output_index: 0,
          item_id: 'x',
        };
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of [created, item])
          response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        // Of an event that was cut off the SDK would only tell that it is no JSON.
        response.end('event: response.output_text.delta\ndata: {"type":"response.output_text.delta", "cut o');
      },
    });
    await expect(
      (async () => {
        for await (const _ of await client.responses.create({ model: 'm', input: 'x', stream: true }));
      })(),
    ).rejects.toThrow(/ended its answer early/);
  });
});

test('aborting a stream ends it at the node', async () => {
  upstream.respondWith('/chat/completions', { kind: 'hangMidStream', chunks: 2 });
  const stream = await client.chat.completions.create({ model: 'm', messages, stream: true });
  for await (const _ of stream) stream.controller.abort();
  await upstream.waitFor(([request]) => request?.clientGoneTime !== undefined, 1000);
});
