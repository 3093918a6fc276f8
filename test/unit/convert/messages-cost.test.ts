import { describe, expect, it } from 'vitest';
import { createMessagesStream } from '../../../src/convert/messages-stream.ts';
import { computedMs } from '../../support/computed.ts';
import { call, chatSse, delta } from './chat-chunks.ts';
import { convert, state } from './messages-fixtures.ts';

/** Milliseconds of computing for these pieces, the better of two. */
function cost(pieces: readonly Uint8Array[]): number {
  const times = [1, 2].map(() => {
    const stream = createMessagesStream(state());
    const started = computedMs();
    for (const piece of pieces) stream.push(piece);
    expect(stream.done).toBe(true);
    return computedMs() - started;
  });
  return Math.min(...times);
}

function pieces(chunks: readonly object[]): Uint8Array[] {
  return [...chunks.map((chunk) => chatSse([chunk], { done: false })), chatSse([delta({}, 'stop')])];
}

function texts(count: number): Uint8Array[] {
  return pieces(Array.from({ length: count }, (_, index) => delta({ content: `word ${index} ` })));
}

function argumentPieces(size: number): Uint8Array[] {
  const json = JSON.stringify({ text: 'x "y" \\ '.repeat(120_000) });
  const count = Math.ceil(json.length / size);
  const cut = Array.from({ length: count }, (_, at) => json.slice(at * size, (at + 1) * size));
  return pieces([call(0, 'a', 'f', ''), ...cut.map((piece) => call(0, undefined, undefined, piece))]);
}

// The law is linear; the factors leave room for a busy machine. What is quadratic costs ten times as much or more.
describe('cost of a stream', () => {
  it('grows with its length and no faster', () => {
    cost(texts(2_000));
    const short = cost(texts(5_000)) / 5_000;
    const long = cost(texts(30_000)) / 30_000;
    expect(long).toBeLessThan(short * 4);
  });

  it('is small for a megabyte of tool arguments, in few pieces and in many', () => {
    expect(cost(argumentPieces(2_000_000))).toBeLessThan(1_000);
    expect(cost(argumentPieces(40))).toBeLessThan(2_000);
  });

  it('writes the first event in the same call as the first content', () => {
    const stream = createMessagesStream(state());
    expect(stream.push(chatSse([delta({ content: 'a' })], { done: false }))).toHaveLength(3);
  });
});

describe('cost of a request', () => {
  const calls = Array.from({ length: 60_000 }, (_, index) => `call_${index}`);
  const uses = calls.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} }));
  const image = { type: 'image', source: { type: 'url', url: 'x' } };
  const results = calls.toReversed().map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'r' }));

  it.each([
    [
      'calls and results of one turn',
      [
        { role: 'assistant', content: uses },
        { role: 'user', content: results },
      ],
    ],
    [
      'results over many messages',
      [{ role: 'assistant', content: uses }, ...results.map((block) => ({ role: 'user', content: [block] }))],
    ],
    [
      'images of one result',
      [
        { role: 'assistant', content: uses.slice(0, 1) },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'call_0', content: calls.map(() => image) }],
        },
      ],
    ],
    [
      'documents of many parts',
      Array.from({ length: 4 }, () => ({
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'content', content: calls.map((text) => ({ type: 'text', text })) },
          },
        ],
      })),
    ],
    ['messages', calls.map((content) => ({ role: 'user', content }))],
  ])('is linear in its %s', (_, messages) => {
    const started = computedMs();
    convert({ messages });
    expect(computedMs() - started).toBeLessThan(3_000);
  });
});
