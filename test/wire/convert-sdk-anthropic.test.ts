import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import { checkChatRequest } from './grammar/chat-request.ts';

// The official client against a node that speaks nothing but chat-completions.
let gateway: GatewayUnderTest;
let node: ScriptedUpstream;
let client: Anthropic;

beforeEach(async () => {
  gateway = await startGateway();
  node = await gateway.addNode('n', { upstream: { chunks: 4 } });
  client = new Anthropic({ baseURL: gateway.origin, apiKey: gateway.key, maxRetries: 0 });
});
afterEach(async () => {
  for (const { body } of node.requestsTo('/chat/completions')) checkChatRequest(JSON.parse(body.toString()));
  await gateway.close();
});

const ask = { model: 'm', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hello' }] };
const tools = [{ name: 'weather', input_schema: { type: 'object' as const, properties: {} } }];
const sentTo = () => JSON.parse(node.requests.at(-1)?.body.toString() ?? '');

test('plain and streamed', async () => {
  const plain = await client.messages.create(ask);
  expect(plain).toMatchObject({
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'w0 w1 w2 w3 ' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 7, output_tokens: 4 },
  });
  expect(plain.id).toMatch(/^msg_/);
  expect(plain._request_id).toMatch(/^req_/);
  const stream = client.messages.stream(ask);
  const texts: string[] = [];
  stream.on('text', (text) => texts.push(text));
  const final = await stream.finalMessage();
  expect(texts).toEqual(['w0 ', 'w1 ', 'w2 ', 'w3 ']);
  expect(final).toMatchObject({
    content: [{ type: 'text', text: 'w0 w1 w2 w3 ' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 7, output_tokens: 4 },
  });
});

test('tools, and the turn after them', async () => {
  for (const message of [
    await client.messages.create({ ...ask, tools }),
    await client.messages.stream({ ...ask, tools }).finalMessage(),
  ]) {
    const [call] = message.content;
    expect(call).toMatchObject({
      type: 'tool_use',
      id: 'call_scripted',
      name: 'weather',
      input: { city: 'Paris' },
    });
    expect(message.stop_reason).toBe('tool_use');
    const result = { type: 'tool_result' as const, tool_use_id: 'call_scripted', content: 'sunny' };
    const next = await client.messages.create({
      ...ask,
      tools,
      messages: [
        ...ask.messages,
        { role: 'assistant', content: message.content },
        { role: 'user', content: [result] },
      ],
    });
    expect(next.stop_reason).toBe('end_turn');
    expect(sentTo().messages.slice(1)).toMatchObject([
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_scripted', function: { arguments: '{"city":"Paris"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_scripted', content: 'sunny' },
    ]);
  }
});

test('no arguments, parallel calls, reasoning, streamed', async () => {
  const delta = (body: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: body, finish_reason: finish }] })}\n\n`;
  const call = (index: number, name: string, args: string) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: args },
  });
  node.respondWith('/chat/completions', {
    kind: 'answer',
    headers: { 'content-type': 'text/event-stream' },
    body: [
      delta({ role: 'assistant', content: null, reasoning_content: 'Hm.' }),
      delta({ content: 'Both.' }),
      delta({ tool_calls: [call(0, 'now', '')] }),
      delta({ tool_calls: [call(1, 'weather', '{"city":')] }),
      delta({ tool_calls: [{ index: 1, function: { arguments: '"Oslo"}' } }] }),
      delta({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ].join(''),
  });
  const message = await client.messages
    .stream({ ...ask, tools: [...tools, { name: 'now', input_schema: { type: 'object' } }] })
    .finalMessage();
  expect(message.content).toMatchObject([
    { type: 'thinking', thinking: 'Hm.' },
    { type: 'text', text: 'Both.' },
    { type: 'tool_use', name: 'now', input: {} },
    { type: 'tool_use', name: 'weather', input: { city: 'Oslo' } },
  ]);
});

test('images, system and stop sequences', async () => {
  await client.messages.create({
    ...ask,
    system: [{ type: 'text', text: 'Be brief.' }],
    stop_sequences: ['END'],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0=' } },
          { type: 'text', text: 'What is it?' },
        ],
      },
    ],
  });
  expect(sentTo()).toMatchObject({
    max_tokens: 50,
    stop: ['END'],
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ image_url: { url: 'data:image/png;base64,iVBORw0=' } }, { type: 'text' }] },
    ],
  });
});

test('counting', async () => {
  const counted = await client.messages.countTokens({ model: 'm', messages: ask.messages });
  expect(counted.input_tokens).toBeGreaterThan(0);
});

describe('errors', () => {
  test('of the request', async () => {
    const bad = {
      ...ask,
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }],
    };
    const error = await client.messages.create(bad as never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.BadRequestError);
    expect(error).toMatchObject({ type: 'invalid_request_error', requestID: expect.stringMatching(/^req_/) });
    expect(String(error)).toContain('messages.0.content.0');
  });

  test.each([
    [429, Anthropic.RateLimitError, 'rate_limit_error', 429],
    [503, Anthropic.InternalServerError, 'overloaded_error', 529],
    [404, Anthropic.NotFoundError, 'not_found_error', 404],
    [401, Anthropic.InternalServerError, 'api_error', 502],
  ])('status %i of the node', async (status, kind, type, shown) => {
    node.respondWith('/chat/completions', { kind: 'answer', status, body: { error: { message: 'said' } } });
    for (const run of [() => client.messages.create(ask), () => client.messages.stream(ask).finalMessage()]) {
      const error = await run().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ status: shown, type });
    }
  });

  test('a prompt that is too long begins as Claude Code reads it', async () => {
    node.respondWith('/chat/completions', {
      kind: 'answer',
      status: 400,
      body: {
        error: { message: 'This model has a maximum context length of 5', code: 'context_length_exceeded' },
      },
    });
    await expect(client.messages.create(ask)).rejects.toMatchObject({
      status: 400,
      error: { error: { message: expect.stringMatching(/^prompt is too long/) } },
    });
  });

  test('the SDK’s own retry', async () => {
    node.respondWith('/chat/completions', [{ kind: 'answer', status: 500, body: {} }]);
    expect((await client.messages.create(ask, { maxRetries: 1 })).type).toBe('message');
  });

  test('a stream that breaks', async () => {
    node.respondWith('/chat/completions', { kind: 'resetMidStream', chunks: 2 });
    await expect(client.messages.stream(ask).finalMessage()).rejects.toThrow(/closed before/);
    node.respondWith('/chat/completions', {
      kind: 'errorInStream',
      chunks: 2,
      error: { message: 'out of memory' },
    });
    await expect(client.messages.stream(ask).finalMessage()).rejects.toThrow(/out of memory/);
  });
});

test('aborting a stream ends it at the node', async () => {
  (node.answers as { chunkDelayMilliseconds: number }).chunkDelayMilliseconds = 50;
  const stream = client.messages.stream(ask);
  stream.on('text', () => stream.abort());
  await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
  await node.waitFor(([request]) => request?.clientGoneTime !== undefined, 1000);
});
