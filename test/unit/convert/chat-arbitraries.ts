import fc from 'fast-check';
import { call, callEntry, delta } from './chat-chunks.ts';

/** Texts as models write them: with white space alone, line breaks, several scripts, half a surrogate pair. */
const anyText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\n',
    '\n\n',
    'a',
    ' b',
    'c ',
    'é',
    '🎉',
    '日本',
    '"',
    '\\',
    '\u2028',
    '\ud83d',
    '\r\n',
    'data: x',
  ),
  fc.string({ maxLength: 12 }),
);

/** Pieces of tool arguments, sound and broken. */
const anyArguments = fc.oneof(
  fc.constantFrom(
    undefined,
    '',
    '{}',
    '{',
    '}',
    '{"a"',
    ':1}',
    '{"a":1}',
    'null',
    'x',
    '[1]',
    '"',
    '{"a":"',
    '\n',
    '{"b":[1,2,{"c":null}]}',
  ),
  fc.json({ maxDepth: 2 }),
);

const anyIndex = fc.constantFrom(0, 0, 1, 2, 7, undefined);
const anyId = fc.constantFrom('a', 'b', 'c', '', undefined, 'functions.x:0');
const anyName = fc.constantFrom('f', 'g', '', undefined, 'f');

const anyEntry = fc.tuple(anyIndex, anyId, anyName, anyArguments).map((entry) => callEntry(...entry));

const anyUsage = fc.record({
  prompt_tokens: fc.nat(),
  completion_tokens: fc.nat(),
  total_tokens: fc.option(fc.nat()),
});

const anyFinish = fc.constantFrom(
  'stop',
  'tool_calls',
  'length',
  'content_filter',
  'function_call',
  'eos',
  null,
  'error',
);

/** One chunk that some node might send. */
const anyChunk: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: anyText.map((content) => delta({ content })) },
  { weight: 3, arbitrary: anyText.map((reasoning_content) => delta({ reasoning_content })) },
  { weight: 1, arbitrary: anyText.map((reasoning) => delta({ reasoning })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(anyText, anyText)
      .map(([thinking, signature]) =>
        delta({ thinking_blocks: [{ type: 'thinking', thinking, signature }] }),
      ),
  },
  {
    weight: 6,
    arbitrary: fc.array(anyEntry, { minLength: 1, maxLength: 3 }).map((tool_calls) => delta({ tool_calls })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ name: anyName, arguments: anyArguments })
      .map((function_call) => delta({ function_call })),
  },
  { weight: 1, arbitrary: anyText.map((refusal) => delta({ refusal })) },
  { weight: 1, arbitrary: anyFinish.map((finish) => delta({}, finish)) },
  { weight: 1, arbitrary: anyUsage.map((usage) => ({ choices: [], usage })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      { choices: [] },
      { choices: [{}] },
      {},
      { choices: [{ index: 1, delta: { content: 'no' } }] },
      { error: { message: 'no' } },
      'not json',
      [],
      { choices: null },
    ),
  },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown) },
);

/** A stream that some node might send, sound or not. */
export const anyChunks = fc.array(anyChunk, { maxLength: 14 });

const identifier = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);

/** What a well-behaved node might say: texts and calls in some order, and how it ends. */
export const soundAnswer = fc.record({
  reasoning: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
  texts: fc.array(fc.string({ minLength: 1 }), { maxLength: 4 }),
  calls: fc.uniqueArray(
    fc.record({
      id: identifier,
      name: identifier,
      input: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
    }),
    { selector: ({ id }) => id, maxLength: 4 },
  ),
});

export type SoundAnswer = typeof soundAnswer extends fc.Arbitrary<infer Answer> ? Answer : never;

/** The chunks of a sound answer, arguments cut into pieces of `size`, parallel calls one behind the other. */
export function chunksOf(answer: SoundAnswer, size: number): object[] {
  const chunks = [
    ...answer.reasoning.map((reasoning_content) => delta({ reasoning_content })),
    ...answer.texts.map((content) => delta({ content })),
    ...answer.calls.flatMap(({ id, name, input }, index) => {
      const json = JSON.stringify(input);
      const pieces = Array.from({ length: Math.ceil(json.length / size) }, (_, at) =>
        json.slice(at * size, (at + 1) * size),
      );
      return [call(index, id, name, ''), ...pieces.map((piece) => call(index, undefined, undefined, piece))];
    }),
  ];
  return [...chunks, delta({}, answer.calls.length > 0 ? 'tool_calls' : 'stop')];
}
