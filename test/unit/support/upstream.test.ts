import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ScriptedUpstream, startUpstream } from '../../support/upstream.ts';
import type { Behaviour } from '../../support/upstream-behaviours.ts';
import { answerText } from '../../support/upstream-sending.ts';

let upstream: ScriptedUpstream;
let openai: OpenAI;
let anthropic: Anthropic;
const messages = [{ role: 'user' as const, content: 'hi' }];
const tool = { name: 'weather', description: '', parameters: { type: 'object' as const } };

beforeEach(async () => {
  upstream = await startUpstream({ apiKey: 'secret', models: ['a/b', 'c'] });
  openai = new OpenAI({ baseURL: upstream.url, apiKey: 'secret', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: upstream.url.replace('/v1', ''), apiKey: 'secret', maxRetries: 0 });
});
afterEach(() => upstream.stop());

test('the official OpenAI SDK is served: chat, tools, completions, embeddings, models', async () => {
  const chat = openai.chat.completions;
  expect((await chat.create({ model: 'c', messages })).choices[0]?.message.content).toBe(answerText(5));
  const stream = chat.stream({ model: 'c', messages, stream_options: { include_usage: true } });
  expect(await stream.finalContent()).toBe(answerText(5));
  expect((await stream.totalUsage()).completion_tokens).toBe(5);
  const tools = [{ type: 'function' as const, function: tool }];
  const called = await chat.stream({ model: 'c', messages, tools }).finalChatCompletion();
  const call = called.choices[0]?.message.tool_calls?.[0];
  expect(call?.type === 'function' && call.function).toMatchObject({
    name: 'weather',
    arguments: '{"city":"Paris"}',
  });
  expect((await openai.completions.create({ model: 'c', prompt: 'x' })).choices[0]?.text).toBe(answerText(5));
  const embedded = await openai.embeddings.create({ model: 'c', input: ['x', 'y'] });
  expect(embedded.data.map(({ embedding }) => embedding)).toEqual([
    [0.25, -0.5, 0.125],
    [0.25, -0.5, 0.125],
  ]);
  expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['a/b', 'c']);
  expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer secret');
});

test('the official SDKs are served natively: responses and messages', async () => {
  expect((await openai.responses.create({ model: 'c', input: 'x' })).output_text).toBe(answerText(5));
  const streamed = await openai.responses.stream({ model: 'c', input: 'x' }).finalResponse();
  expect(streamed.output_text).toBe(answerText(5));
  const functions = [{ type: 'function' as const, ...tool, strict: false }];
  const response = await openai.responses
    .stream({ model: 'c', input: 'x', tools: functions })
    .finalResponse();
  expect(response.output[0]).toMatchObject({ type: 'function_call', name: 'weather' });

  const parameters = { model: 'c', max_tokens: 10, messages };
  const plain = await anthropic.messages.create(parameters);
  expect(plain.content[0]).toMatchObject({ type: 'text', text: answerText(5) });
  expect(await anthropic.messages.stream(parameters).finalText()).toBe(answerText(5));
  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }];
  const used = await anthropic.messages.stream({ ...parameters, tools }).finalMessage();
  expect(used).toMatchObject({
    stop_reason: 'tool_use',
    content: [{ name: 'weather', input: { city: 'Paris' } }],
  });
  expect((await anthropic.messages.countTokens({ model: 'c', messages })).input_tokens).toBe(7);
});

const ask = async (body = '{"model":"c","stream":true}') => {
  const answer = await request(`${upstream.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer secret' },
    body,
    headersTimeout: 300,
    bodyTimeout: 300,
  });
  return `${answer.statusCode} ${await answer.body.text()}`;
};

const faults: [Behaviour, RegExp][] = [
  [
    { kind: 'answer', status: 429, headers: { 'retry-after': '7' }, body: { error: {} } },
    /^429 \{"error":\{\}\}$/,
  ],
  [{ kind: 'resetBeforeHead' }, /ECONNRESET|other side closed/],
  [{ kind: 'closeBeforeHead' }, /other side closed/],
  [{ kind: 'resetAfterHead' }, /ECONNRESET|terminated|other side closed/],
  [{ kind: 'resetMidStream', chunks: 2 }, /ECONNRESET|terminated|other side closed/],
  [{ kind: 'endMidStream', chunks: 2 }, /^200 (data: \{[^\n]*\}\n\n){2}$/],
  [{ kind: 'shortBody' }, /ECONNRESET|terminated|other side closed/],
  [{ kind: 'hang' }, /Headers Timeout/],
  [{ kind: 'hangAfterHead' }, /Body Timeout/],
  [{ kind: 'hangMidStream', chunks: 1 }, /Body Timeout/],
  [
    { kind: 'keepAlives', everyMilliseconds: 1, times: 2, next: { kind: 'well' } },
    /^200 (: keepalive\n\n){2}data: /,
  ],
  [{ kind: 'slowFirstByte', milliseconds: 20 }, /^200 data: /],
  [{ kind: 'slowBody', body: '{"x":1}', everyMilliseconds: 1 }, /^200 \{"x":1\}$/],
  [{ kind: 'endlessHeaders' }, /Headers Overflow|Headers Timeout/],
  [{ kind: 'redirect', location: 'http://127.0.0.1:1/' }, /^307 $/],
  [{ kind: 'errorInStream', chunks: 1, error: { code: 'x' } }, /data: \{"error":\{"code":"x"\}\}\n\n$/],
  [{ kind: 'raw', bytes: 'SSH-2.0-x\r\n' }, /HTTP|Parse|Expected/],
  [{ kind: 'beforeBody', next: { kind: 'answer', status: 413 } }, /^413 $/],
];
for (const [behaviour, expected] of faults) {
  test(`behaviour ${behaviour.kind}`, async () => {
    upstream.respondWith('/chat/completions', [behaviour]);
    await expect(ask().catch((error: Error) => `${error.message} ${String(error.cause)}`)).resolves.toMatch(
      expected,
    );
    expect(await ask()).toMatch(/^200 /);
  });
}

test('the client leaving is recorded, an answer and a cut of our own are not taken for it', async () => {
  upstream.respondWith('*', [{ kind: 'well' }, { kind: 'resetBeforeHead' }, { kind: 'endlessBody' }]);
  await ask();
  await ask().catch(() => {});
  const { body } = await request(`${upstream.url}/models`, { headers: { authorization: 'Bearer secret' } });
  body.destroy();
  body.on('error', () => {});
  await upstream.waitFor((requests) => requests[2]?.clientGoneTime !== undefined);
  expect(upstream.requests.map(({ clientGoneTime }) => clientGoneTime === undefined)).toEqual([
    true,
    true,
    false,
  ]);
  expect(upstream.requests[2]?.sentBytes()).toBeGreaterThan(60_000);
});

test('pause refuses, resume answers on the same port, a wrong key gets 401', async () => {
  upstream.pause();
  await expect(ask()).rejects.toThrow(/ECONNREFUSED/);
  await upstream.resume();
  expect(await ask()).toMatch(/^200 /);
  const { statusCode } = await request(`${upstream.url}/models`, { headers: { 'x-api-key': 'wrong' } });
  expect(statusCode).toBe(401);
  upstream.respondWith('/chat/completions', [{ kind: 'refuse' }]);
  await ask().catch(() => {});
  await expect(ask()).rejects.toThrow(/ECONNREFUSED/);
});

test('closeAfterAnswer leaves a kept-alive connection that is dead at the next request', async () => {
  upstream.respondWith('/chat/completions', [{ kind: 'closeAfterAnswer' }]);
  expect(await ask()).toMatch(/^200 /);
  expect(await ask()).toMatch(/^200 /);
  expect(upstream.requests.map(({ connection }) => connection)).toEqual([1, 2]);
});
