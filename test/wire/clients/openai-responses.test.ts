import OpenAI from 'openai';
import { ResponsesToolRunner, runnerFunction } from 'openai/helpers/responses-tool-runner';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ChatOnly, pixel, startChatOnly } from './chat-only.ts';
import { greeting } from './scripted-models.ts';

let stage: ChatOnly;
let client: OpenAI;

beforeEach(async () => {
  stage = await startChatOnly();
  client = new OpenAI({ baseURL: stage.gateway.baseURL, apiKey: stage.gateway.key, maxRetries: 0 });
});
afterEach(() => stage.close());

type Input = OpenAI.Responses.ResponseInputItem[];
type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Ask = (body: Body) => Promise<OpenAI.Responses.Response>;
const ways: [string, Ask][] = [
  ['plain', (body) => client.responses.create(body)],
  ['streamed', (body) => client.responses.stream({ ...body, stream: true }).finalResponse()],
];
const tools = [
  zodResponsesFunction({ name: 'weather', parameters: z.object({ city: z.string() }) }),
  zodResponsesFunction({ name: 'now', parameters: z.object({}) }),
];
const place = z.object({ city: z.string(), days: z.array(z.number()) });

describe.each(ways)('%s', (_, ask) => {
  test('text and usage', async () => {
    const response = await ask({ model: 'talks', input: 'Hi' });
    expect(response.output_text).toBe(greeting);
    expect(response).toMatchObject({
      status: 'completed',
      usage: {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 5 },
        output_tokens: 8,
        output_tokens_details: { reasoning_tokens: 3 },
      },
    });
  });

  test('calls side by side, one without arguments, and the turn after them', async () => {
    const first = await ask({ model: 'calls', input: 'Weather?', tools });
    const calls = first.output.filter((item) => item.type === 'function_call');
    expect(calls.map(({ name, arguments: text }) => [name, text])).toEqual([
      ['weather', '{"city":"Oslo"}'],
      ['now', '{}'],
      ['weather', '{"city":"Rome"}'],
    ]);
    expect(first.output_text).toBe('Looking.');
    // Results in the order in which the tools ended, which is not the order of the calls.
    const results = calls
      .toReversed()
      .map(({ call_id, name }) => ({ type: 'function_call_output' as const, call_id, output: `${name} ok` }));
    const input: Input = [{ role: 'user', content: 'Weather?' }, ...(first.output as Input), ...results];
    const second = await ask({ model: 'calls', input, tools });
    expect(second.output_text).toBe('Results: weather ok | now ok | weather ok');
  });

  test('reasoning, shown as a summary where one is asked for, and given back to the node', async () => {
    const shown = await ask({ model: 'thinks', input: 'Why?', reasoning: { summary: 'auto' } });
    expect(shown.output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'First this, then that.' }] },
      { type: 'message' },
    ]);
    const raw = await ask({ model: 'thinks', input: 'Why?' });
    expect(raw.output[0]).toMatchObject({
      type: 'reasoning',
      content: [{ type: 'reasoning_text', text: 'First this, then that.' }],
    });
    for (const { output } of [shown, raw]) {
      await ask({
        model: 'talks',
        input: [{ role: 'user', content: 'Why?' }, ...(output as Input), { role: 'user', content: 'And?' }],
      });
      expect(stage.sent().at(-1)).toMatchObject({
        messages: [
          {},
          { role: 'assistant', content: 'Done.', reasoning_content: 'First this, then that.' },
          {},
        ],
      });
    }
  });

  test('an agent that thinks before each call', async () => {
    const input: Input = [{ role: 'user', content: 'Explore' }];
    for (let turn = 0; turn < 5; turn++) {
      const { output } = await ask({ model: 'explores', input, tools, store: false });
      input.push(...(output as Input));
      const call = output.find((item) => item.type === 'function_call');
      if (call === undefined) break;
      input.push({ type: 'function_call_output', call_id: call.call_id, output: 'seen' });
    }
    expect(input.at(-1)).toMatchObject({ content: [{ text: 'Seen 2.' }] });
    expect(stage.sent().at(-1)).toMatchObject({
      messages: [
        { role: 'user' },
        { role: 'assistant', reasoning_content: 'Step 1.', tool_calls: [{ id: 'call_oslo' }] },
        { role: 'tool' },
        { role: 'assistant', reasoning_content: 'Step 2.', tool_calls: [{ id: 'call_now' }] },
        { role: 'tool' },
      ],
    });
  });

  test('images', async () => {
    const url = `data:image/png;base64,${pixel}`;
    const { output_text } = await ask({
      model: 'sees',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What?' },
            { type: 'input_image', image_url: url, detail: 'auto' },
            { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
          ],
        },
      ],
    });
    expect(output_text).toBe('text data:image/png;base64,iVBORw0K https://example.com/a.png');
  });

  test('a refusal and an answer that was cut', async () => {
    expect((await ask({ model: 'refuses', input: 'Hi' })).output).toMatchObject([
      { type: 'message', content: [{ type: 'refusal', refusal: 'I will not.' }] },
    ]);
    expect(await ask({ model: 'stops', input: 'Hi' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: 'Cut sho',
    });
  });

  test.each([
    ['full', OpenAI.RateLimitError, 429, /no room/],
    ['fails', OpenAI.InternalServerError, 500, /broken/],
    ['rejects', OpenAI.BadRequestError, 400, /temperature is too high/],
    ['nobody', OpenAI.NotFoundError, 404, /nobody/],
  ])('error of the model %s', async (model, kind, status, message) => {
    const error = await ask({ model, input: 'Hi' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ status, message: expect.stringMatching(message) });
  });

  test('a key that opens nothing, and a wrong type', async () => {
    client = client.withOptions({ apiKey: 'mgk_wrong' });
    await expect(ask({ model: 'talks', input: 'Hi' })).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    client = client.withOptions({ apiKey: stage.gateway.key });
    await expect(ask({ model: 'talks', input: 7 as never })).rejects.toMatchObject({
      status: 400,
      param: 'input',
    });
  });

  test.each([
    ['busy', 'Free again.'],
    ['stumbles', 'Up again.'],
  ])('its own retry of the model that is %s', async (model, text) => {
    client = client.withOptions({ maxRetries: 2 });
    expect((await ask({ model, input: 'Hi' })).output_text).toBe(text);
    expect(stage.sent()).toHaveLength(2);
  });
});

test('.parse, plain and streamed, and parsed arguments', async () => {
  const body = { model: 'obeys', input: 'Where?', text: { format: zodTextFormat(place, 'place') } };
  const wanted = { city: 'Oslo', days: [1, 2] };
  expect((await client.responses.parse(body)).output_parsed).toEqual(wanted);
  expect((await client.responses.stream(body).finalResponse()).output_parsed).toEqual(wanted);
  for (const sent of stage.sent())
    expect(sent).toMatchObject({
      response_format: {
        json_schema: { name: 'place', strict: true, schema: { required: ['city', 'days'] } },
      },
    });
  const called = await client.responses.parse({ model: 'calls', input: 'Weather?', tools });
  expect(
    called.output.flatMap((item) => (item.type === 'function_call' ? [item.parsed_arguments] : [])),
  ).toEqual([{ city: 'Oslo' }, {}, { city: 'Rome' }]);
});

test.each([{}, { stream: true }, { stream: true, eager: true }])('tool runner: %o', async (options) => {
  const weather = zodResponsesFunction({
    name: 'weather',
    parameters: z.object({ city: z.string() }),
    function: ({ city }) => `${city} ok`,
  });
  const now = zodResponsesFunction({
    name: 'now',
    parameters: z.object({}),
    function: () => 'noon',
  });
  const runner = new ResponsesToolRunner({ functions: [runnerFunction(weather), runnerFunction(now)] });
  const final = await runner.run(client, { model: 'calls', input: 'Weather?' }, options);
  expect(final.output_text).toBe('Results: Oslo ok | noon | Rome ok');
});

test('snapshots of a stream grow piece by piece', async () => {
  const seen: string[] = [];
  const stream = client.responses.stream({ model: 'calls', input: 'Weather?', tools });
  stream.on('response.output_text.delta', ({ snapshot }) => void seen.push(snapshot));
  stream.on('response.function_call_arguments.delta', ({ snapshot }) => void seen.push(snapshot));
  await stream.finalResponse();
  expect(seen).toEqual([
    'Lookin',
    'Looking.',
    '{"city',
    '{"city":"Osl',
    '{"city":"Oslo"}',
    '{"city',
    '{"city":"Rom',
    '{"city":"Rome"}',
    '{}',
  ]);
});

test('aborts, plain and streamed, end the request at the node', async () => {
  const aborter = new AbortController();
  const plain = client.responses.create({ model: 'lingers', input: 'Hi' }, { signal: aborter.signal });
  await stage.node.waitFor((all) => all.length === 1);
  aborter.abort();
  await expect(plain).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
  await stage.left();
  const stream = client.responses.stream({ model: 'lingers', input: 'Hi' });
  stream.on('response.output_text.delta', () => stream.abort());
  await expect(stream.finalResponse()).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
  await stage.left();
});

test('a stream that breaks is an error', async () => {
  const stream = client.responses.stream({ model: 'breaks', input: 'Hi' });
  await expect(stream.finalResponse()).rejects.toThrow(/closed before/);
});

test('completions: several answers, echo, streamed, abort', async () => {
  const plain = await client.completions.create({ model: 'talks', prompt: 'Say: ', n: 2, echo: true });
  expect(plain.choices.map(({ text }) => text)).toEqual([`Say: ${greeting}`, `Say: ${greeting}`]);
  let text = '';
  let usage: unknown;
  for await (const chunk of await client.completions.create({
    model: 'talks',
    prompt: 'Hi',
    stream: true,
    stream_options: { include_usage: true },
  })) {
    text += chunk.choices[0]?.text ?? '';
    usage = chunk.usage ?? usage;
  }
  expect(text).toBe(greeting);
  expect(usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 });
  const stream = await client.completions.create({ model: 'lingers', prompt: 'Hi', stream: true });
  for await (const _ of stream) stream.controller.abort();
  await stage.left();
  await expect(client.completions.create({ model: 'rejects', prompt: 'Hi' })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('temperature is too high'),
  });
  await expect(client.completions.create({ model: 'nobody', prompt: 'Hi' })).rejects.toMatchObject({
    code: 'model_not_found',
  });
});
