import fc from 'fast-check';

const words = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom('', ' ', '\n', 'x-anthropic-billing-header: a', 'grüße', '日本'),
);
const mark = fc.constantFrom({}, { cache_control: { type: 'ephemeral' } });

const text = fc.tuple(words, mark).map(([value, more]) => ({ type: 'text', text: value, ...more }));
const image = fc.constantFrom(
  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
  { type: 'image', source: { type: 'url', url: 'https://a.example/i.png' } },
);
const document = fc.record({
  type: fc.constant('document'),
  title: fc.option(words),
  source: fc.oneof(
    words.map((data) => ({ type: 'text', media_type: 'text/plain', data })),
    fc.array(fc.oneof(text, image), { maxLength: 2 }).map((content) => ({ type: 'content', content })),
  ),
});
const found = fc
  .array(text, { maxLength: 2 })
  .map((content) => ({ type: 'search_result', title: 'T', source: 'S', content }));
const said = fc.oneof(text, image, document, found);

const name = fc.oneof(
  fc.constantFrom('f', 'g', 'a.b', 'a_b', 'x'.repeat(70)),
  fc.string({ minLength: 1, maxLength: 80 }),
);
const input = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
const resultContent = fc.oneof(
  fc.constant(undefined),
  words,
  fc.array(fc.oneof(said, fc.constant({ type: 'tool_reference', tool_name: 'f' })), { maxLength: 3 }),
);

const thought = fc.oneof(
  words.map((thinking) => ({ type: 'thinking', thinking, signature: '' })),
  fc.constant({ type: 'redacted_thinking', data: 'x' }),
);

/** An assistant's turn with calls, and the user's turn that answers all of them in some order. */
const toolTurn = fc
  .record({
    before: fc.array(fc.oneof(text, thought), { maxLength: 2 }),
    calls: fc.uniqueArray(
      fc.record({
        id: fc.stringMatching(/^[a-zA-Z0-9_-]{1,12}$/),
        name,
        input,
        content: resultContent,
        failed: fc.boolean(),
      }),
      { selector: ({ id }) => id, minLength: 1, maxLength: 4 },
    ),
    order: fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
    after: fc.array(said, { maxLength: 2 }),
    system: fc.boolean(),
  })
  .map(({ before, calls, order, after, system }) => {
    const results = calls
      .map(({ id, content, failed }, index) => ({
        rank: order[index] ?? 0,
        block: {
          type: 'tool_result',
          tool_use_id: id,
          ...(content === undefined ? {} : { content }),
          ...(failed ? { is_error: true } : {}),
        },
      }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ block }) => block);
    const uses = calls.map((one) => ({ type: 'tool_use', id: one.id, name: one.name, input: one.input }));
    const notes = system ? [{ role: 'system', content: 'remember' }] : [];
    return [
      { role: 'assistant', content: [...before, ...uses] },
      ...notes,
      { role: 'user', content: [...results, ...after] },
    ];
  });

const plainTurn = fc.oneof(
  fc.array(said, { minLength: 1, maxLength: 3 }).map((content) => [{ role: 'user', content }]),
  words.map((content) => [{ role: 'user', content }]),
  fc
    .array(fc.oneof(text, thought), { minLength: 1, maxLength: 3 })
    .map((content) => [{ role: 'assistant', content }]),
);

const tools = fc
  .uniqueArray(name, { maxLength: 5 })
  .map((names) =>
    names.map((one) => ({ name: one, description: 'd', input_schema: { type: 'object', properties: {} } })),
  );

/** A body that Anthropic's API would take. */
export const validRequest = fc
  .record({
    turns: fc.array(fc.oneof(plainTurn, toolTurn), { maxLength: 5 }),
    system: fc.option(fc.oneof(words, fc.array(text, { maxLength: 2 }))),
    tools: fc.option(tools),
    choice: fc.constantFrom(
      undefined,
      { type: 'auto' },
      { type: 'any' },
      { type: 'none', disable_parallel_tool_use: true },
    ),
    thinking: fc.constantFrom(
      undefined,
      { type: 'adaptive' },
      { type: 'disabled' },
      { type: 'enabled', budget_tokens: 2000 },
    ),
    stream: fc.option(fc.boolean()),
    more: fc.constantFrom(
      {},
      { top_k: 3, temperature: 0.5 },
      { metadata: { user_id: 'u'.repeat(200) } },
      { stop_sequences: ['x'] },
      { context_management: { edits: [] }, unheard_of: 1 },
    ),
  })
  .map(({ turns, more, choice, thinking, ...fields }) => ({
    model: 'claude-x',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'begin' }, ...turns.flat()],
    ...fields,
    system: fields.system,
    // Without tools the vendor refuses it.
    tool_choice: choice?.type === 'any' && !fields.tools?.length ? undefined : choice,
    thinking,
    ...more,
  }));
