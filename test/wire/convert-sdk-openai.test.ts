import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import { checkChatRequest } from './grammar/chat-request.ts';

// The official client against a node that speaks nothing but chat-completions.
let gateway: GatewayUnderTest;
let node: ScriptedUpstream;
let client: OpenAI;

beforeEach(async () => {
  gateway = await startGateway();
  node = await gateway.addNode('n', { upstream: { chunks: 4 } });
  client = new OpenAI({ baseURL: gateway.baseURL, apiKey: gateway.key, maxRetries: 0 });
});
afterEach(async () => {
  for (const { body } of node.requestsTo('/chat/completions')) checkChatRequest(JSON.parse(body.toString()));
  await gateway.close();
});

const ask = { model: 'm', input: 'Hello' };
const weather = { type: 'function' as const, name: 'weather', parameters: {}, strict: false };
const sentTo = () => JSON.parse(node.requests.at(-1)?.body.toString() ?? '');

test('responses: plain and streamed', async () => {
  const plain = await client.responses.create({ ...ask, instructions: 'Be brief.' });
  expect(plain.output_text).toBe('w0 w1 w2 w3 ');
  expect(plain).toMatchObject({
    status: 'completed',
    model: 'm',
    instructions: 'Be brief.',
    usage: { input_tokens: 7, output_tokens: 4, total_tokens: 11 },
  });
  expect(plain._request_id).toMatch(/^req_/);
  expect(sentTo().messages).toMatchObject([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ]);
  const stream = client.responses.stream(ask);
  const deltas: string[] = [];
  stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
  const final = await stream.finalResponse();
  expect(deltas).toEqual(['w0 ', 'w1 ', 'w2 ', 'w3 ']);
  expect(final).toMatchObject({
    status: 'completed',
    output_text: 'w0 w1 w2 w3 ',
    usage: { total_tokens: 11 },
  });
});

test('responses: tools, and the turn after them with the whole history', async () => {
  for (const response of [
    await client.responses.create({ ...ask, tools: [weather] }),
    await client.responses.stream({ ...ask, tools: [weather] }).finalResponse(),
  ]) {
    expect(response.output).toMatchObject([
      { type: 'function_call', call_id: 'call_scripted', name: 'weather', arguments: '{"city":"Paris"}' },
    ]);
    const next = await client.responses.create({
      model: 'm',
      tools: [weather],
      input: [
        { role: 'user', content: 'Hello' },
        ...(response.output as OpenAI.Responses.ResponseInputItem[]),
        { type: 'function_call_output', call_id: 'call_scripted', output: 'sunny' },
      ],
    });
    expect(next.output_text).toBe('w0 w1 w2 w3 ');
    expect(sentTo().messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'call_scripted' }] },
      { role: 'tool', tool_call_id: 'call_scripted', content: 'sunny' },
    ]);
  }
});

test('responses: structured output is parsed', async () => {
  const text = '{"city":"Oslo"}';
  node.respondWith('/chat/completions', {
    kind: 'answer',
    body: { choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }] },
  });
  const schema = { type: 'object', properties: { city: { type: 'string' } } };
  const parsed = await client.responses.parse({
    ...ask,
    text: { format: { type: 'json_schema', name: 'place', schema } },
  });
  expect(parsed.output_parsed).toEqual({ city: 'Oslo' });
  expect(sentTo()).toMatchObject({
    response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
  });
});

test('completions: plain and streamed', async () => {
  const plain = await client.completions.create({ model: 'm', prompt: ['a', 'b'] });
  expect(plain.choices.map(({ text, index }) => `${index}${text}`)).toEqual([
    '0w0 w1 w2 w3 ',
    '1w0 w1 w2 w3 ',
  ]);
  expect(sentTo()).toMatchObject({ max_tokens: 16 });
  let text = '';
  for await (const chunk of await client.completions.create({ model: 'm', prompt: 'a', stream: true }))
    text += chunk.choices[0]?.text ?? '';
  expect(text).toBe('w0 w1 w2 w3 ');
});

describe('errors', () => {
  test('of the request', async () => {
    const error = await client.responses
      .create({ ...ask, previous_response_id: 'resp_1' })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ code: 'previous_response_not_found', param: 'previous_response_id' });
  });

  test.each([
    [429, OpenAI.RateLimitError, 429],
    [404, OpenAI.NotFoundError, 404],
    [503, OpenAI.InternalServerError, 503],
    [401, OpenAI.InternalServerError, 502],
  ])('status %i of the node', async (status, kind, shown) => {
    node.respondWith('/chat/completions', { kind: 'answer', status, body: { error: { message: 'said' } } });
    for (const run of [
      () => client.responses.create(ask),
      () => client.responses.stream(ask).finalResponse(),
      () => client.completions.create({ model: 'm', prompt: 'x' }),
    ]) {
      const error = await run().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ status: shown });
    }
  });

  test('a stream that breaks', async () => {
    node.respondWith('/chat/completions', { kind: 'resetMidStream', chunks: 2 });
    const read = async () => {
      for await (const _ of await client.responses.create({ ...ask, stream: true }));
    };
    await expect(read()).rejects.toThrow(/closed before/);
    const completions = async () => {
      for await (const _ of await client.completions.create({ model: 'm', prompt: 'x', stream: true }));
    };
    await expect(completions()).rejects.toThrow(/closed before/);
  });
});

test('aborting a stream ends it at the node', async () => {
  node.respondWith('/chat/completions', { kind: 'hangMidStream', chunks: 2 });
  const stream = await client.responses.create({ ...ask, stream: true });
  for await (const event of stream)
    if (event.type === 'response.output_text.delta') stream.controller.abort();
  await node.waitFor(([request]) => request?.clientGoneTime !== undefined, 1000);
});
