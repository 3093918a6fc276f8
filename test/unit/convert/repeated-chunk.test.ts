import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ChatEvent } from '../../../src/convert/chat-event.ts';
import { ChatStream } from '../../../src/convert/chat-stream.ts';
import { RepeatedChunk } from '../../../src/convert/repeated-chunk.ts';
import { chatSse, delta } from './chat-chunks.ts';

const chunkOf = (text: string) => `{"choices":[{"index":0,"delta":{"content":"${text}"}}]}`;

test.each([
  ['another text', chunkOf('b'), 'b'],
  ['an escaped one', chunkOf(String.raw`\n\"\u00e9`), '\n"é'],
  ['no text', chunkOf(''), ''],
  ['another member before it', `{"id":1,${chunkOf('b').slice(1)}`, undefined],
  ['another member behind it', `${chunkOf('b').slice(0, -1)},"usage":null}`, undefined],
  ['more members in place of the text', chunkOf('b","refusal":"c'), undefined],
  ['text that is not complete', chunkOf('b\\'), undefined],
  ['a control character', chunkOf('\t'), undefined],
  ['a number', chunkOf('b').replace('"b"', '1'), undefined],
  ['nothing', '', undefined],
])('a chunk like the one that was learnt: %s', (_name, json, text) => {
  const repeated = new RepeatedChunk();
  expect(repeated.textOf(json)).toBeUndefined();
  repeated.learn(chunkOf('a'), 'a');
  expect(repeated.textOf(json)).toBe(text);
  repeated.forget();
  expect(repeated.textOf(json)).toBeUndefined();
});

test.each([
  ['the text may be at two places', '{"content":"a","choices":[{"delta":{"content":"a"}}]}', 'a'],
  [
    'a name is written with escapes',
    String.raw`{"content":"a","choices":[{"delta":{"conten\u0074":"a"}}]}`,
    'a',
  ],
  ['the content is a list', '{"choices":[{"delta":{"content":[{"type":"type"}]}}]}', 'type'],
  ['the content is the word', chunkOf('content'), 'content'],
  ['the text is elsewhere', '{"choices":[{"delta":{"text":"a"}}]}', 'a'],
])('a chunk is not learnt if %s', (_name, json, text) => {
  const repeated = new RepeatedChunk();
  repeated.learn(json, text);
  expect(repeated.textOf(json)).toBeUndefined();
});

// Chunks that are alike, in all ways that count.
const chunks: readonly string[] = [
  ...['a', 'b', '', 'content', 'a"b\\c\n\u2028', '1'].map((text) => JSON.stringify(delta({ content: text }))),
  JSON.stringify(delta({ content: 'a' }, null, { usage: { prompt_tokens: 1, completion_tokens: 2 } })),
  JSON.stringify(delta({ content: 'b' }, null, { usage: { prompt_tokens: 1, completion_tokens: 2 } })),
  JSON.stringify(delta({ content: 'b' }, null, { usage: { prompt_tokens: 1, completion_tokens: 3 } })),
  JSON.stringify(delta({ content: 'a' }, null, { service_tier: 'flex' })),
  JSON.stringify(delta({ content: 'b' }, null, { service_tier: 'flex', content: 'b' })),
  JSON.stringify(delta({ content: 'a' }, 'length')),
  JSON.stringify(delta({ content: 'b' }, 'length')),
  JSON.stringify(delta({ content: 'a', refusal: 'no' })),
  JSON.stringify(delta({ content: 'a', reasoning_content: 'thus' })),
  JSON.stringify(delta({ content: [{ type: 'text', text: 'type' }] })),
  JSON.stringify(delta({ content: [{ type: 'text', text: 'a' }] })),
  JSON.stringify(delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] })),
  JSON.stringify(delta({ content: 'a', images: ['x'] })),
  JSON.stringify({ choices: [{ index: 0, message: { content: 'a' } }] }),
  JSON.stringify({ choices: [{ index: 0, message: { content: 'b' } }] }),
  JSON.stringify({ choices: [{ index: 1, delta: { content: 'b' } }] }),
  JSON.stringify({
    choices: [{ index: 0, delta: { content: 'a' }, logprobs: { content: [{ token: 'a' }] } }],
  }),
  '{"choices": [{"delta": {"content": "a"}}]}',
  '{"choices": [{"delta": {"content": "b","refusal":"no"}}]}',
  '{"choices":[],"error":null}',
];

test('a stream is read as if each of its chunks were parsed', () => {
  const piece = fc.tuple(fc.constantFrom(...chunks), fc.integer({ min: 1, max: 3 }));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const sent = pieces.flatMap(([chunk, times]) => Array<string>(times).fill(chunk));
      // With a member that differs, no chunk is like the one before it.
      const different = sent.map((chunk, index) => `{"obfuscation":"${index}",${chunk.slice(1)}`);
      expect(read(sent)).toEqual(read(different));
    }),
    { numRuns: 2_000 },
  );
});

function read(chunksSent: readonly string[]): { events: ChatEvent[]; unread: unknown; usage: unknown } {
  const stream = new ChatStream();
  const events = chunksSent.flatMap((chunk) => stream.push(chatSse([chunk], { done: false })));
  events.push(...stream.push(Buffer.from('data: [DONE]\n\n')), ...stream.end());
  return { events, unread: [...stream.unread], usage: stream.usage };
}
