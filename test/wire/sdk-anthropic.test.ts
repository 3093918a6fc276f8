import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;
let client: Anthropic;

beforeEach(async () => {
  gateway = await startGateway();
  upstream = await gateway.addNode('n', { spec: { nativeFormats: ['Messages'] }, upstream: { chunks: 4 } });
  client = new Anthropic({ baseURL: gateway.origin, apiKey: gateway.key, maxRetries: 0 });
});
afterEach(() => gateway.close());

const ask = { model: 'm', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hello' }] };
const tools = [{ name: 'weather', input_schema: { type: 'object' as const, properties: {} } }];

test('messages: plain and streamed', async () => {
  const plain = await client.messages.create(ask);
  expect(plain.content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(/./) });
  expect(plain._request_id).toMatch(/^req_/);
  const final = await client.messages.stream(ask).finalMessage();
  expect(final.content[0]).toMatchObject({ type: 'text', text: (plain.content[0] as { text: string }).text });
  expect(final.stop_reason).toBe('end_turn');
});

test('messages: tools, plain and streamed', async () => {
  for (const message of [
    await client.messages.create({ ...ask, tools }),
    await client.messages.stream({ ...ask, tools }).finalMessage(),
  ]) {
    expect(message.content[0]).toMatchObject({ type: 'tool_use', name: 'weather', input: { city: 'Paris' } });
    expect(message.stop_reason).toBe('tool_use');
  }
});

test('with an auth token; counting; models', async () => {
  const bearer = new Anthropic({
    baseURL: gateway.origin,
    authToken: gateway.key,
    apiKey: null,
    maxRetries: 0,
  });
  expect((await bearer.messages.create(ask)).type).toBe('message');
  expect((await client.messages.countTokens({ model: 'm', messages: ask.messages })).input_tokens).toBe(7);
  const names: string[] = [];
  for await (const model of client.models.list()) names.push(model.id);
  expect(names).toEqual(['m']);
  expect((await client.models.retrieve('m')).display_name).toBe('m');
});

describe('errors', () => {
  test('bad key, unknown model', async () => {
    const bad = await new Anthropic({
      baseURL: gateway.origin,
      apiKey: 'x'.repeat(40),
      maxRetries: 0,
    }).messages
      .create(ask)
      .catch((error: unknown) => error);
    expect(bad).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(bad).toMatchObject({ requestID: expect.stringMatching(/^req_/), type: 'authentication_error' });
    await expect(client.messages.create({ ...ask, model: 'unknown' })).rejects.toBeInstanceOf(
      Anthropic.NotFoundError,
    );
  });

  test('an overloaded node, and the SDK’s own retry', async () => {
    const overloaded = {
      kind: 'answer',
      status: 529,
      body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    } as const;
    upstream.respondWith('/messages', overloaded);
    await expect(client.messages.create(ask)).rejects.toMatchObject({
      status: 529,
      type: 'overloaded_error',
    });
    upstream.respondWith('/messages', [overloaded]);
    expect((await client.messages.create(ask, { maxRetries: 1 })).type).toBe('message');
  });

  test('an error as the first word of a stream is an HTTP error', async () => {
    upstream.respondWith('/messages', {
      kind: 'answer',
      headers: { 'content-type': 'text/event-stream' },
      body: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    });
    await expect(client.messages.stream(ask).finalMessage()).rejects.toMatchObject({ status: 529 });
  });

  test('a stream that breaks', async () => {
    upstream.respondWith('/messages', {
      kind: 'run',
      run: ({ response }) => {
        const events = [
          {
            type: 'message_start',
            message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: {} },
          },
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
        ];
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of events)
          response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        // Of an event that was cut off the SDK would only tell that it is no JSON.
        response.end('event: content_block_delta\ndata: {"type":"content_block_delta", "cut o');
      },
    });
    await expect(client.messages.stream(ask).finalMessage()).rejects.toThrow(/ended its answer early/);
  });
});

test('aborting a stream ends it at the node', async () => {
  (upstream.answers as { chunkDelayMilliseconds: number }).chunkDelayMilliseconds = 50;
  const stream = client.messages.stream(ask);
  stream.on('text', () => stream.abort());
  await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
  await upstream.waitFor(([request]) => request?.clientGoneTime !== undefined, 1000);
});
