import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ChatOnly, pixel, startChatOnly } from './chat-only.ts';
import { loadPackage } from './npm-packages.ts';
import { greeting } from './scripted-models.ts';

/** What these tests use of the packages; the values are compared, so their types need no names. */
interface Runnable<T> {
  invoke(input: unknown, options?: { signal?: AbortSignal }): Promise<T>;
  stream(input: unknown, options?: { signal?: AbortSignal }): Promise<AsyncIterable<Chunk>>;
}
interface Message {
  readonly text: string;
  readonly content: unknown;
  readonly contentBlocks: readonly { readonly type: string; readonly reasoning?: string }[];
  readonly tool_calls: readonly { readonly name: string; readonly args: unknown; readonly id: string }[];
  readonly usage_metadata: unknown;
}
interface Chunk extends Message {
  concat(next: Chunk): Chunk;
}
interface Model extends Runnable<Message> {
  bindTools(tools: readonly object[]): Model;
  withStructuredOutput(schema: unknown, options: object): Runnable<unknown>;
}
type ModelClass = new (options: object) => Model;
type MessageClass = new (fields: unknown) => object;

const { ChatOpenAI } = await loadPackage<{ ChatOpenAI: ModelClass }>('@langchain/openai');
const { ChatAnthropic } = await loadPackage<{ ChatAnthropic: ModelClass }>('@langchain/anthropic');
const { HumanMessage, ToolMessage } =
  await loadPackage<Record<'HumanMessage' | 'ToolMessage', MessageClass>>('@langchain/core/messages');
const { tool } = await loadPackage<{ tool(run: () => unknown, options: object): object }>(
  '@langchain/core/tools',
);

let stage: ChatOnly;
let passedThrough = false;

beforeEach(async () => {
  stage = await startChatOnly();
  passedThrough = false;
});
afterEach(() => stage.close({ passedThrough }));

const place = z.object({ city: z.string(), days: z.array(z.number()) });
const weather = tool(() => '', { name: 'weather', schema: z.object({ city: z.string() }) });
const now = tool(() => '', { name: 'now', schema: z.object({}) });

interface Dialect {
  readonly name: string;
  make(model: string, options?: object): Model;
  readonly reasoning: object;
  /** How an answer is made to follow a schema. */
  readonly schema: object;
  readonly passedThrough?: true;
}
const openai = (model: string, options: object) =>
  new ChatOpenAI({
    model,
    apiKey: stage.gateway.key,
    configuration: { baseURL: stage.gateway.baseURL },
    maxRetries: 0,
    ...options,
  });
const dialects: readonly Dialect[] = [
  {
    name: 'openai, responses',
    make: (model, options = {}) => openai(model, { useResponsesApi: true, ...options }),
    // As an option of its own it is sent to models of certain names only.
    reasoning: { modelKwargs: { reasoning: { summary: 'auto' } } },
    schema: { method: 'jsonSchema' },
  },
  {
    name: 'openai, chat',
    make: (model, options = {}) => openai(model, options),
    reasoning: {},
    schema: { method: 'jsonSchema' },
    passedThrough: true,
  },
  {
    name: 'anthropic',
    make: (model, options = {}) =>
      new ChatAnthropic({
        model,
        apiKey: stage.gateway.key,
        anthropicApiUrl: stage.gateway.origin,
        maxTokens: 2000,
        maxRetries: 0,
        ...options,
      }),
    reasoning: { thinking: { type: 'enabled', budget_tokens: 1024 } },
    schema: { name: 'place' },
  },
];
type Ask = (model: Model, input: unknown) => Promise<Message>;
const ways: readonly [string, Ask][] = [
  ['plain', (model, input) => model.invoke(input)],
  ['streamed', collect],
];

async function collect(model: Model, input: unknown): Promise<Message> {
  let whole: Chunk | undefined;
  for await (const chunk of await model.stream(input)) whole = whole?.concat(chunk) ?? chunk;
  if (whole === undefined) throw new Error('the stream was empty');
  return whole;
}

describe.each(dialects)('$name', ({ name, make, reasoning, schema, passedThrough: chat = false }) => {
  beforeEach(() => {
    passedThrough = chat;
  });
  describe.each(ways)('%s', (way, ask) => {
    test('text and usage', async () => {
      const answer = await ask(make('talks'), 'Hi');
      expect(answer.text).toBe(greeting);
      // For Messages it looks for input tokens at the start of a stream only, where no chat-completions node tells them.
      const input = name === 'anthropic' && way === 'streamed' ? 0 : 20;
      expect(answer.usage_metadata).toMatchObject({ input_tokens: input, output_tokens: 8 });
    });

    test('calls side by side, one without arguments, and the turn after them', async () => {
      const model = make('calls').bindTools([weather, now]);
      const first = await ask(model, 'Weather?');
      const calls = [
        { id: 'call_oslo', name: 'weather', args: { city: 'Oslo' } },
        { id: 'call_now', name: 'now', args: {} },
        { id: 'call_rome', name: 'weather', args: { city: 'Rome' } },
      ];
      // Of the node's own bytes it takes no call whose arguments are "".
      const taken = chat && way === 'plain' ? calls.filter(({ id }) => id !== 'call_now') : calls;
      expect(first.tool_calls).toMatchObject(taken);
      const results = first.tool_calls.map(
        ({ id, name }) => new ToolMessage({ tool_call_id: id, content: `${name} ok` }),
      );
      const second = await ask(model, [new HumanMessage('Weather?'), first, ...results]);
      expect(second.text).toBe(`Results: ${taken.map((call) => `${call.name} ok`).join(' | ')}`);
    });

    // Its chat model shows none.
    test.skipIf(chat)('reasoning, shown and given back to the node', async () => {
      const model = make('explores', reasoning).bindTools([weather, now]);
      const first = await ask(model, 'Explore');
      const thoughts = first.contentBlocks.filter(({ type }) => type === 'reasoning');
      expect(thoughts.map((block) => block.reasoning)).toEqual(['Step 1.']);
      const result = new ToolMessage({ tool_call_id: 'call_oslo', content: 'seen' });
      await ask(model, [new HumanMessage('Explore'), first, result]);
      expect(stage.sent().at(-1)).toMatchObject({
        messages: [{}, { reasoning_content: 'Step 1.', tool_calls: [{ id: 'call_oslo' }] }, {}],
      });
    });

    test('an image', async () => {
      const content = [
        { type: 'text', text: 'What?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
      ];
      expect((await ask(make('sees'), [new HumanMessage({ content })])).text).toBe(
        'text data:image/png;base64,iVBORw0K',
      );
    });

    test.each([
      ['full', 429],
      ['fails', 500],
      ['rejects', 400],
      ['nobody', 404],
    ])('error of the model %s', async (model, status) => {
      await expect(ask(make(model), 'Hi')).rejects.toMatchObject({ status });
    });
  });

  // Side by side, because it waits more than a second before each.
  test('its own retries', async () => {
    const retried = [
      make('busy', { maxRetries: 2 }).invoke('Hi'),
      collect(make('stumbles', { maxRetries: 2 }), 'Hi'),
    ];
    const texts = (await Promise.all(retried)).map(({ text }) => text);
    expect(texts).toEqual(['Free again.', 'Up again.']);
  });

  test('an answer by a schema', async () => {
    const model = make('obeys').withStructuredOutput(place, schema);
    expect(await model.invoke('Where?')).toEqual({ city: 'Oslo', days: [1, 2] });
  });

  test('a stream that breaks is an error', async () => {
    await expect(collect(make('breaks'), 'Hi')).rejects.toThrow(/closed before/);
  });

  test('abort', async () => {
    const aborter = new AbortController();
    const read = async () => {
      for await (const _ of await make('lingers').stream('Hi', { signal: aborter.signal })) aborter.abort();
    };
    await expect(read()).rejects.toThrow(/abort/i);
    await stage.left();
  });

  test('a key that opens nothing', async () => {
    await expect(make('talks', { apiKey: 'mgk_wrong' }).invoke('Hi')).rejects.toMatchObject({ status: 401 });
  });
});
