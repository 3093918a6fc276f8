import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type ChatOnly, pixel, startChatOnly } from './chat-only.ts';
import { greeting } from './scripted-models.ts';

// The helpers of the official client, with the format that passes through unchanged.
let stage: ChatOnly;
let client: OpenAI;

beforeEach(async () => {
  stage = await startChatOnly();
  client = new OpenAI({ baseURL: stage.gateway.baseURL, apiKey: stage.gateway.key, maxRetries: 0 });
});
afterEach(() => stage.close({ passedThrough: true }));

const messages = [{ role: 'user' as const, content: 'Hi' }];
const place = z.object({ city: z.string(), days: z.array(z.number()) });

test('text and reasoning, plain and streamed', async () => {
  const plain = await client.chat.completions.create({ model: 'thinks', messages });
  const streamed = await client.chat.completions.stream({ model: 'thinks', messages }).finalChatCompletion();
  for (const { choices } of [plain, streamed]) expect(choices[0]?.message.content).toBe('Done.');
  expect(plain.choices[0]?.message).toMatchObject({ reasoning_content: 'First this, then that.' });
  const pieces: string[] = [];
  const stream = client.chat.completions.stream({ model: 'talks', messages });
  stream.on('content', (delta) => void pieces.push(delta));
  expect((await stream.finalContent()) ?? '').toBe(greeting);
  expect(pieces.join('')).toBe(greeting);
});

test('.parse and .stream with a schema', async () => {
  const body = { model: 'obeys', messages, response_format: zodResponseFormat(place, 'place') };
  const wanted = { city: 'Oslo', days: [1, 2] };
  expect((await client.chat.completions.parse(body)).choices[0]?.message.parsed).toEqual(wanted);
  const streamed = await client.chat.completions.stream(body).finalChatCompletion();
  expect(streamed.choices[0]?.message.parsed).toEqual(wanted);
});

test.each([false, true])('runTools, streamed: %s', async (stream) => {
  const asked: string[] = [];
  const weather = zodFunction({
    name: 'weather',
    parameters: z.object({ city: z.string() }),
    function: ({ city }) => {
      asked.push(city);
      return `${city} ok`;
    },
  });
  const body = { model: 'explores', messages, tools: [weather] };
  const seen: string[] = [];
  const note = ({ role }: { role: string }) => void seen.push(role);
  const runner = stream
    ? client.chat.completions.runTools({ ...body, stream: true }).on('message', note)
    : client.chat.completions.runTools({ ...body, stream: false }).on('message', note);
  // The model calls a second tool that is not there; the runner tells it so and goes on.
  expect(await runner.finalContent()).toBe('Seen 2.');
  expect(asked).toEqual(['Oslo']);
  expect(seen).toEqual(['assistant', 'tool', 'assistant', 'tool', 'assistant']);
});

test('images', async () => {
  const url = `data:image/png;base64,${pixel}`;
  const { choices } = await client.chat.completions.create({
    model: 'sees',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  });
  expect(choices[0]?.message.content).toBe('data:image/png;base64,iVBORw0K');
});

test('errors and retries', async () => {
  const ask = (model: string, maxRetries = 0) =>
    client.chat.completions.create({ model, messages }, { maxRetries });
  await expect(ask('full')).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  await expect(ask('fails')).rejects.toBeInstanceOf(OpenAI.InternalServerError);
  await expect(ask('rejects')).rejects.toMatchObject({ status: 400, param: 'temperature' });
  await expect(ask('nobody')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  expect((await ask('busy', 2)).choices[0]?.message.content).toBe('Free again.');
  expect((await ask('stumbles', 2)).choices[0]?.message.content).toBe('Up again.');
});

test('abort and a stream that breaks', async () => {
  const stream = client.chat.completions.stream({ model: 'lingers', messages });
  stream.on('chunk', () => stream.abort());
  await expect(stream.done()).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
  await stage.left();
  const broken = client.chat.completions.stream({ model: 'breaks', messages });
  await expect(broken.done()).rejects.toThrow(/closed before/);
});

test('models', async () => {
  const names: string[] = [];
  for await (const { id } of client.models.list()) names.push(id);
  expect(names).toContain('talks');
  expect((await client.models.retrieve('talks')).id).toBe('talks');
  await expect(client.models.retrieve('nobody')).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});
