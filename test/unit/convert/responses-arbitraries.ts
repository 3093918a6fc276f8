import fc from 'fast-check';
import type { DialectWish } from '../../../src/convert/dialect.ts';

// Valid bodies of POST /v1/responses, as wild as the vendor lets them be.

const name = fc.oneof(fc.stringMatching(/^[a-zA-Z0-9_-]{1,70}$/), fc.constantFrom('a__b', 'a', 'b', 'exec'));
const words = fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom('é', '日本🎉', '\n', ' ', '"'));
const schema = fc.record(
  {
    type: fc.constant('object'),
    properties: fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 })),
  },
  { requiredKeys: ['type'] },
);
const image = fc.constantFrom(
  { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
  { type: 'input_image', image_url: 'https://a.example/x.png', detail: 'original' },
);
const inputText = words.map((text) => ({ type: 'input_text', text }));
const content = fc.oneof(words, fc.array(fc.oneof(inputText, image), { minLength: 1, maxLength: 3 }));
const systemContent = fc.oneof(words, fc.array(inputText, { minLength: 1, maxLength: 2 }));

const functionTool = fc.record(
  {
    type: fc.constant('function'),
    name,
    description: fc.option(words),
    parameters: fc.option(schema),
    strict: fc.option(fc.boolean()),
  },
  { requiredKeys: ['type', 'name'] },
);
const customTool = fc.record({ type: fc.constant('custom'), name });
const namespaceTool = fc.record({
  type: fc.constant('namespace'),
  name,
  tools: fc.uniqueArray(fc.oneof(functionTool, customTool), { selector: (tool) => tool.name, maxLength: 3 }),
});
const hostedTool = fc.constantFrom(
  { type: 'web_search' },
  { type: 'mcp', server_label: 'x' },
  { type: 'tool_search', execution: 'client', parameters: { type: 'object' } },
);

/** No two tools of one name, as the vendor wants it. */
const tools = fc.uniqueArray(fc.oneof(functionTool, customTool, namespaceTool, hostedTool), {
  selector: (tool) => ('name' in tool ? `${tool.type === 'namespace'}${tool.name}` : tool.type),
  maxLength: 5,
});

const message = fc.oneof(
  content.map((value) => ({ type: 'message', role: 'user', content: value })),
  systemContent.map((value) => ({ role: 'developer', content: value })),
  systemContent.map((value) => ({ role: 'system', content: value })),
  words.map((text) => ({
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  })),
);
const reasoning = words.map((text) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [],
  content: [{ type: 'reasoning_text', text }],
  encrypted_content: null,
}));
const hosted = fc.constantFrom(
  { type: 'web_search_call', id: 'ws_1', status: 'completed' },
  { type: 'mcp_list_tools', id: 'x' },
);

/** A search for tools that the caller ran, with what it found. */
const search = fc.record({ search: fc.dictionary(words, words, { maxKeys: 2 }), found: tools });

/** Calls with their outputs in any order behind them; what lies between is drawn too. */
const round = fc
  .record({
    calls: fc.array(
      fc.record({
        custom: fc.boolean(),
        name,
        namespace: fc.option(name, { nil: undefined }),
        input: fc.dictionary(words, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
        output: fc.oneof(words, fc.array(fc.oneof(inputText, image), { maxLength: 2 })),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    reversed: fc.boolean(),
    between: fc.array(fc.oneof(message, reasoning, hosted), { maxLength: 2 }),
    answered: fc.boolean(),
  })
  .map((drawn) => drawn);

/** Items in a valid order; ids are made unique by their place. */
const items = fc
  .array(fc.oneof(message, reasoning, hosted, round, search), { minLength: 1, maxLength: 6 })
  .map((drawn) =>
    drawn.flatMap((entry, at): object[] => {
      if ('search' in entry) {
        const client = { call_id: `search_${at}`, execution: 'client' };
        return [
          { type: 'tool_search_call', ...client, arguments: entry.search },
          { type: 'tool_search_output', ...client, tools: entry.found },
        ];
      }
      if (!('calls' in entry)) return [entry];
      const calls = entry.calls.map((call, index) => {
        const { custom, namespace, input } = call;
        const named = {
          call_id: `call_${at}_${index}`,
          name: call.name,
          ...(namespace === undefined ? {} : { namespace }),
        };
        return custom
          ? { type: 'custom_tool_call', ...named, input: JSON.stringify(input) }
          : { type: 'function_call', ...named, arguments: JSON.stringify(input) };
      });
      const outputs = entry.calls.map(({ custom, output }, index) => ({
        type: custom ? 'custom_tool_call_output' : 'function_call_output',
        call_id: `call_${at}_${index}`,
        output,
      }));
      if (!entry.answered) return [...calls, ...entry.between];
      return [...calls, ...entry.between, ...(entry.reversed ? outputs.toReversed() : outputs)];
    }),
  );

/** A body that the vendor takes and that can be carried; it always holds a user message, so that something is left. */
export const validResponsesRequest = fc.record(
  {
    model: fc.constantFrom('m', 'a/b'),
    input: items.map((list) => [{ role: 'user', content: 'hi' }, ...list]),
    instructions: fc.option(words),
    temperature: fc.option(fc.double({ min: 0, max: 2, noNaN: true })),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    max_output_tokens: fc.option(fc.integer({ min: 16, max: 100_000 })),
    top_logprobs: fc.integer({ min: 0, max: 20 }),
    stream: fc.boolean(),
    tools,
    tool_choice: fc.constantFrom('auto', 'none'),
    parallel_tool_calls: fc.boolean(),
    reasoning: fc.record({
      effort: fc.constantFrom('none', 'low', 'xhigh', null),
      summary: fc.constantFrom('auto', null),
    }),
    text: fc.constantFrom({}, { verbosity: 'low' }, { format: { type: 'json_object' } }),
    metadata: fc.dictionary(fc.string({ maxLength: 5 }), words),
    include: fc.constantFrom([], ['reasoning.encrypted_content']),
    store: fc.boolean(),
    user: words,
    service_tier: fc.constantFrom('auto', 'flex'),
    client_metadata: fc.constant({ a: 'b' }),
    something_new: fc.jsonValue({ maxDepth: 1 }),
  },
  { requiredKeys: ['model', 'input'] },
);

export const anyDialect: fc.Arbitrary<DialectWish> = fc.record({
  maxTokensField: fc.constantFrom('MaxTokens' as const, 'MaxCompletionTokens' as const),
  developerRole: fc.boolean(),
  systemPlacement: fc.constantFrom('Inline' as const, 'Leading' as const),
  reasoningHistoryField: fc.constantFrom('None' as const, 'ReasoningContent' as const, 'Reasoning' as const),
  toolImages: fc.constantFrom('UserMessage' as const, 'Inline' as const),
  parallelToolCalls: fc.boolean(),
  openAIExtras: fc.boolean(),
});
