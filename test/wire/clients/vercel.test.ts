import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ChatOnly, pixel, startChatOnly } from './chat-only.ts';
import { loadPackage } from './npm-packages.ts';
import { greeting } from './scripted-models.ts';

/** What these tests use of the packages; the values are compared, so their types need no names. */
interface Ai {
  generateText(options: object): Promise<Result>;
  streamText(options: object): Streamed;
  tool(options: object): object;
  isStepCount(count: number): unknown;
  readonly Output: { object(options: { schema: unknown }): unknown };
}
interface Result {
  readonly text: string;
  readonly reasoningText: string | undefined;
  readonly output: unknown;
  readonly usage: unknown;
  readonly finishReason: string;
  readonly steps: readonly { readonly toolCalls: readonly object[]; readonly reasoningText?: string }[];
}
type Streamed = { readonly [K in keyof Result]: PromiseLike<Result[K]> } & {
  readonly stream: AsyncIterable<{ readonly type: string; readonly error?: unknown }>;
};
interface Provider {
  (model: string): unknown;
  chat(model: string): unknown;
}
type Make = (options: { baseURL: string; apiKey: string }) => Provider;

const ai = await loadPackage<Ai>('ai');
const { createOpenAI } = await loadPackage<{ createOpenAI: Make }>('@ai-sdk/openai');
const { createAnthropic } = await loadPackage<{ createAnthropic: Make }>('@ai-sdk/anthropic');

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

let stage: ChatOnly;
let passedThrough = false;

beforeEach(async () => {
  stage = await startChatOnly();
  passedThrough = false;
});
afterEach(() => stage.close({ passedThrough }));

const place = z.object({ city: z.string(), days: z.array(z.number()) });
const tools = {
  weather: ai.tool({
    description: 'The weather of a city',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }: { city: string }) => `${city} ok`,
  }),
  now: ai.tool({ description: 'The time', inputSchema: z.object({}), execute: async () => 'noon' }),
};

interface Dialect {
  readonly name: string;
  model(name: string): unknown;
  /** What tools in a loop need. */
  readonly loop: object;
  /** What makes the provider ask for reasoning. */
  readonly reasoning: object;
  /** What the provider does with reasoning: `chat` shows none; `responses` drops from history what is not encrypted. */
  readonly reasons: 'not' | 'shows' | 'shows and gives back';
  readonly passedThrough?: true;
}
const settings = (apiKey = stage.gateway.key) => ({ baseURL: stage.gateway.baseURL, apiKey });
const dialects: readonly Dialect[] = [
  {
    name: 'openai, responses',
    model: (name) => createOpenAI(settings())(name),
    // Else the client refers to items of earlier turns, which nobody keeps here.
    loop: { openai: { store: false } },
    reasons: 'shows',
    reasoning: { openai: { forceReasoning: true, reasoningSummary: 'auto', store: false } },
  },
  {
    name: 'openai, chat',
    model: (name) => createOpenAI(settings()).chat(name),
    loop: {},
    reasons: 'not',
    reasoning: {},
    passedThrough: true,
  },
  {
    name: 'anthropic',
    model: (name) => createAnthropic(settings())(name),
    loop: {},
    reasons: 'shows and gives back',
    reasoning: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
  },
];
type Ask = (options: object) => Promise<Result>;
const ways: readonly [string, Ask][] = [
  ['plain', (options) => ai.generateText(options)],
  ['streamed', collect],
];

/** Reads a stream to its end; an error in it is thrown. */
async function collect(options: object): Promise<Result> {
  const result = ai.streamText({ ...options, onError: () => {} });
  for await (const part of result.stream) if (part.type === 'error') throw part.error;
  const names = ['text', 'reasoningText', 'usage', 'finishReason', 'steps', 'output'] as const;
  const values = await Promise.all(names.map(async (name) => [name, await result[name]] as const));
  return Object.fromEntries(values) as unknown as Result;
}

describe.each(dialects)('$name', ({ model, loop, reasoning, reasons, passedThrough: chat = false }) => {
  beforeEach(() => {
    passedThrough = chat;
  });
  describe.each(ways)('%s', (_, ask) => {
    test('text and usage', async () => {
      const result = await ask({ model: model('talks'), prompt: 'Hi' });
      expect(result.text).toBe(greeting);
      expect(result.finishReason).toBe('stop');
      expect(result.usage).toMatchObject({
        inputTokens: 20,
        inputTokenDetails: { cacheReadTokens: 5 },
        outputTokens: 8,
      });
    });

    test('tools in a loop: side by side, one without arguments', async () => {
      const { text, steps } = await ask({
        model: model('calls'),
        prompt: 'Weather?',
        tools,
        stopWhen: ai.isStepCount(4),
        providerOptions: loop,
      });
      expect(text).toBe('Results: Oslo ok | noon | Rome ok');
      expect(steps[0]?.toolCalls).toMatchObject([
        { toolName: 'weather', input: { city: 'Oslo' } },
        { toolName: 'now', input: {} },
        { toolName: 'weather', input: { city: 'Rome' } },
      ]);
    });

    test('reasoning, shown and given back to the node', async () => {
      const { steps, text } = await ask({
        model: model('explores'),
        prompt: 'Explore',
        tools,
        stopWhen: ai.isStepCount(5),
        providerOptions: reasoning,
      });
      expect(text).toBe('Seen 2.');
      const shown = steps.map(({ reasoningText }) => reasoningText);
      expect(shown).toEqual(
        reasons === 'not' ? [undefined, undefined, undefined] : ['Step 1.', 'Step 2.', 'Enough.'],
      );
      if (reasons !== 'shows and gives back') {
        expect(JSON.stringify(stage.sent().at(-1))).not.toContain('Step 1.');
        return;
      }
      expect(stage.sent().at(-1)).toMatchObject({
        messages: [
          {},
          { reasoning_content: 'Step 1.', tool_calls: [{ id: 'call_oslo' }] },
          {},
          { reasoning_content: 'Step 2.', tool_calls: [{ id: 'call_now' }] },
          {},
        ],
      });
    });

    test('an image', async () => {
      const content = [
        { type: 'text', text: 'What?' },
        { type: 'file', data: Buffer.from(pixel, 'base64'), mediaType: 'image/png' },
      ];
      const { text } = await ask({ model: model('sees'), messages: [{ role: 'user', content }] });
      expect(text).toBe('text data:image/png;base64,iVBORw0K');
    });

    test('an object by a schema', async () => {
      const output = ai.Output.object({ schema: place });
      expect((await ask({ model: model('obeys'), prompt: 'Where?', output })).output).toEqual({
        city: 'Oslo',
        days: [1, 2],
      });
    });

    test.each([
      ['full', 429, /no room/],
      ['fails', 500, /broken/],
      ['rejects', 400, /temperature is too high/],
      ['nobody', 404, /nobody/],
    ])('error of the model %s', async (name, statusCode, message) => {
      const error = await ask({ model: model(name), prompt: 'Hi', maxRetries: 0 }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ statusCode, message: expect.stringMatching(message) });
    });

    test.each([
      ['busy', 'Free again.'],
      ['stumbles', 'Up again.'],
    ])('its own retry of the model that is %s', async (name, text) => {
      expect((await ask({ model: model(name), prompt: 'Hi' })).text).toBe(text);
    });
  });

  test('an answer that was cut', async () => {
    expect((await ai.generateText({ model: model('stops'), prompt: 'Hi' })).finishReason).toBe('length');
  });

  test('a stream that breaks is an error', async () => {
    await expect(collect({ model: model('breaks'), prompt: 'Hi' })).rejects.toMatchObject({
      message: expect.stringMatching(/closed before/),
    });
  });

  test('abort', async () => {
    const aborter = new AbortController();
    const result = ai.streamText({
      model: model('lingers'),
      prompt: 'Hi',
      abortSignal: aborter.signal,
      onError: () => {},
    });
    const seen: string[] = [];
    for await (const { type } of result.stream) {
      seen.push(type);
      if (type === 'text-delta') aborter.abort();
    }
    expect(seen.at(-1)).toBe('abort');
    await stage.left();
  });
});

test.each([
  ['openai', () => createOpenAI(settings('mgk_wrong'))('talks')],
  ['anthropic', () => createAnthropic(settings('mgk_wrong'))('talks')],
])('%s: a key that opens nothing', async (_, model) => {
  const error = await ai.generateText({ model: model(), prompt: 'Hi' }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ statusCode: 401 });
});

test('responses: without store:false the client refers to items, which is refused as OpenAI does', async () => {
  const model = createOpenAI(settings())('calls');
  const run = ai.generateText({ model, prompt: 'Weather?', tools, stopWhen: ai.isStepCount(3) });
  await expect(run).rejects.toMatchObject({
    statusCode: 404,
    message: expect.stringMatching(/Item with id 'msg_.*' not found/),
  });
});
