import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ChatOnly, pixel, startChatOnly } from './chat-only.ts';
import { greeting } from './scripted-models.ts';

let stage: ChatOnly;
let client: Anthropic;

beforeEach(async () => {
  stage = await startChatOnly();
  client = new Anthropic({ baseURL: stage.gateway.origin, apiKey: stage.gateway.key, maxRetries: 0 });
});
afterEach(() => stage.close());

type Body = Omit<Anthropic.MessageCreateParamsNonStreaming, 'max_tokens'>;
type Ask = (body: Body) => Promise<Anthropic.Message>;
const ways: [string, Ask][] = [
  ['plain', (body) => client.messages.create({ ...body, max_tokens: 100 })],
  ['streamed', (body) => client.messages.stream({ ...body, max_tokens: 100 }).finalMessage()],
];
const messages = [{ role: 'user' as const, content: 'Hi' }];
const tools = [
  { name: 'weather', input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } } },
  { name: 'now', input_schema: { type: 'object' as const } },
];
const place = z.object({ city: z.string(), days: z.array(z.number()) });

describe.each(ways)('%s', (_, ask) => {
  test('text and usage', async () => {
    expect(await ask({ model: 'talks', messages })).toMatchObject({
      content: [{ type: 'text', text: greeting }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 15, cache_read_input_tokens: 5, output_tokens: 8 },
    });
  });

  test('calls side by side, one without arguments, and the turn after them', async () => {
    const first = await ask({ model: 'calls', messages, tools });
    expect(first).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'call_oslo', name: 'weather', input: { city: 'Oslo' } },
        { type: 'tool_use', id: 'call_now', name: 'now', input: {} },
        { type: 'tool_use', id: 'call_rome', name: 'weather', input: { city: 'Rome' } },
      ],
    });
    const results = ['call_rome', 'call_oslo', 'call_now'].map((id) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: [{ type: 'text' as const, text: id }],
      is_error: id === 'call_now',
    }));
    const second = await ask({
      model: 'calls',
      tools,
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [...results, { type: 'text', text: 'And now?' }] },
      ],
    });
    expect(second.content).toMatchObject([{ text: 'Results: call_oslo | Error: call_now | call_rome' }]);
  });

  test('thinking, shown and given back to the node', async () => {
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
    const first = await ask({ model: 'explores', messages, tools, thinking });
    expect(first.content).toMatchObject([{ type: 'thinking', thinking: 'Step 1.' }, { type: 'tool_use' }]);
    await ask({
      model: 'explores',
      thinking,
      tools,
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_oslo', content: 'seen' }] },
      ],
    });
    expect(stage.sent().at(-1)).toMatchObject({
      messages: [{}, { reasoning_content: 'Step 1.', tool_calls: [{ id: 'call_oslo' }] }, { role: 'tool' }],
    });
  });

  test('images', async () => {
    const { content } = await ask({
      model: 'sees',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            { type: 'text', text: 'What?' },
          ],
        },
      ],
    });
    expect(content).toMatchObject([
      { text: 'data:image/png;base64,iVBORw0K https://example.com/a.png text' },
    ]);
  });

  test('a refusal and an answer that was cut', async () => {
    expect(await ask({ model: 'refuses', messages })).toMatchObject({
      stop_reason: 'refusal',
      content: [{ type: 'text', text: 'I will not.' }],
    });
    expect(await ask({ model: 'stops', messages })).toMatchObject({
      stop_reason: 'max_tokens',
      content: [{ text: 'Cut sho' }],
    });
  });

  test.each([
    ['full', Anthropic.RateLimitError, 'rate_limit_error'],
    ['fails', Anthropic.InternalServerError, 'api_error'],
    ['rejects', Anthropic.BadRequestError, 'invalid_request_error'],
    ['nobody', Anthropic.NotFoundError, 'not_found_error'],
  ])('error of the model %s', async (model, kind, type) => {
    const error = await ask({ model, messages }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ type, requestID: expect.stringMatching(/^req_/) });
  });

  test('a key that opens nothing, and a wrong type', async () => {
    client = client.withOptions({ apiKey: 'mgk_wrong' });
    await expect(ask({ model: 'talks', messages })).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
    client = client.withOptions({ apiKey: stage.gateway.key });
    await expect(ask({ model: 'talks', messages, stop_sequences: 7 as never })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('stop_sequences: '),
    });
  });

  test.each([
    ['busy', 'Free again.'],
    ['stumbles', 'Up again.'],
  ])('its own retry of the model that is %s', async (model, text) => {
    client = client.withOptions({ maxRetries: 2 });
    expect((await ask({ model, messages })).content).toMatchObject([{ text }]);
    expect(stage.sent()).toHaveLength(2);
  });
});

test('.parse, plain and streamed', async () => {
  const body = {
    model: 'obeys',
    max_tokens: 100,
    messages,
    output_config: { format: zodOutputFormat(place) },
  };
  const wanted = { city: 'Oslo', days: [1, 2] };
  expect((await client.messages.parse(body)).parsed_output).toEqual(wanted);
  expect((await client.messages.stream(body).finalMessage()).parsed_output).toEqual(wanted);
  for (const sent of stage.sent())
    expect(sent).toMatchObject({
      response_format: { json_schema: { schema: { required: ['city', 'days'] } } },
    });
});

test.each([false, true])('tool runner, streamed: %s', async (stream) => {
  const weather = betaZodTool({
    name: 'weather',
    description: 'The weather of a city',
    inputSchema: z.object({ city: z.string() }),
    run: ({ city }) => `${city} ok`,
  });
  const now = betaZodTool({
    name: 'now',
    description: 'The time',
    inputSchema: z.object({}),
    run: () => [
      { type: 'text', text: 'noon' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
    ],
  });
  const body = { model: 'calls', max_tokens: 100, messages, tools: [weather, now] };
  const final = stream
    ? await client.beta.messages.toolRunner({ ...body, stream: true }).runUntilDone()
    : await client.beta.messages.toolRunner({ ...body, stream: false }).runUntilDone();
  expect(final.content).toMatchObject([
    { text: expect.stringMatching(/^Results: Oslo ok \| noon.* \| Rome ok$/) },
  ]);
  expect(JSON.stringify(stage.sent().at(-1))).toContain(pixel);
});

test('a thread, which the client wants held by the server', async () => {
  const params = { model: 'calls', max_tokens: 100, tools };
  const error = await client.beta.messages
    .thread(params)
    .send(messages)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Anthropic.ThreadUnsupportedRequestError);
  const thread = client.beta.messages.thread({
    ...params,
    unsupportedRequestBehavior: 'continue_unthreaded',
  });
  await thread.send(messages);
  const results = ['call_oslo', 'call_now', 'call_rome'].map((id) => ({
    type: 'tool_result' as const,
    tool_use_id: id,
    content: 'ok',
  }));
  const { content } = await thread.send({ role: 'user', content: results });
  expect(content).toMatchObject([{ text: 'Results: ok | ok | ok' }]);
  const lost = { type: 'continue' as const, previous_message_id: 'msg_1' };
  await expect(client.beta.messages.create({ ...params, messages, thread: lost })).rejects.toMatchObject({
    status: 404,
    errorCode: 'thread_not_found',
  });
});

test('events of a stream name the block that they belong to', async () => {
  const seen: unknown[] = [];
  const stream = client.messages.stream({ model: 'calls', max_tokens: 100, messages, tools });
  stream.on('inputJson', (_, snapshot) => void seen.push(snapshot));
  stream.on('contentBlock', (block) => void seen.push(block.type));
  await stream.finalMessage();
  expect(seen.filter((each) => typeof each === 'string')).toEqual([
    'text',
    'tool_use',
    'tool_use',
    'tool_use',
  ]);
  expect(seen).toContainEqual({ city: 'Rome' });
});

test('abort and a stream that breaks', async () => {
  const aborter = new AbortController();
  const plain = client.messages.create(
    { model: 'lingers', max_tokens: 100, messages },
    { signal: aborter.signal },
  );
  const refused = expect(plain).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
  await stage.node.waitFor((all) => all.length === 1);
  aborter.abort();
  await refused;
  await stage.left();
  const stream = client.messages.stream({ model: 'lingers', max_tokens: 100, messages });
  stream.on('text', () => stream.abort());
  await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
  await stage.left();
  const broken = client.messages.stream({ model: 'breaks', max_tokens: 100, messages });
  await expect(broken.finalMessage()).rejects.toThrow(/closed before/);
});

test('counting and models', async () => {
  const counted = await client.messages.countTokens({ model: 'talks', messages, tools });
  expect(counted.input_tokens).toBeGreaterThan(10);
  const names: string[] = [];
  for await (const { id } of client.models.list({ limit: 4 })) names.push(id);
  expect(names).toContain('talks');
  expect(new Set(names).size).toBe(names.length);
  expect((await client.models.retrieve('talks')).display_name).toBe('talks');
});
