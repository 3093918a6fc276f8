import { describe, expect, it } from 'vitest';
import { isObject } from '../../../src/convert/json.ts';
import { noteUnreadBody } from '../../../src/convert/unread-answer.ts';
import { plainAnswer, replyFormats, streamedAnswer } from '../../support/sdk-types/reply-formats.ts';
import { call, chatSse, delta } from './chat-chunks.ts';

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

const alone: readonly [name: string, message: object][] = [
  ['images', { content: null, images: [image] }],
  ['audio', { content: null, audio: { id: 'a', data: 'AAAA', transcript: 'hi', expires_at: 1 } }],
  ['an image part', { content: [image] }],
  ['a file part', { content: [{ type: 'file', file: { file_id: 'f' } }] }],
];

const counted: readonly [label: string, message: object, choice?: object, body?: object][] = [
  ['images', { images: [image] }],
  ['annotations', { annotations: [{ type: 'file_citation', file_citation: { file_id: 'f' } }] }],
  [
    'annotations',
    {
      content: [
        { type: 'text', text: 'a' },
        { type: 'reference', reference_ids: [1] },
      ],
    },
  ],
  ['citations', { citations: ['https://a.example'] }],
  ['search_results', { search_results: [{ title: 't', url: 'https://a.example' }] }],
  ['executed_tools', { executed_tools: [{ type: 'search' }] }],
  ['citations', {}, {}, { citations: ['https://a.example'] }],
  ['system_fingerprint', {}, {}, { system_fingerprint: 'fp_1' }],
  ['usage', {}, {}, { usage: { prompt_tokens: 1, completion_tokens: 1, cost: 0.1 } }],
  ['logprobs', {}, { logprobs: { refusal: [{ token: 'a', logprob: -1 }] } }],
  ['other', { invented_by_a_node: 'x' }],
  ['signature', { thinking_blocks: [{ type: 'redacted_thinking', data: 'x' }] }],
];

function bodyOf(message: object, choice: object = {}, body: object = {}): string {
  const said = { role: 'assistant', content: 'a', ...message };
  return JSON.stringify({
    choices: [{ index: 0, finish_reason: 'stop', message: said, ...choice }],
    ...body,
  });
}

describe.each(replyFormats)('$name', (frame) => {
  it.each(alone)('%s alone is an error, plain and streamed', (_, message) => {
    expect(plainAnswer(frame, bodyOf(message)).fault?.kind).toBe('malformed');
    const stream = Buffer.from(chatSse([delta(message), delta({}, 'stop')])).toString();
    expect(streamedAnswer(frame, stream).fault?.kind).toBe('malformed');
  });

  it.each(counted)('%s of %j are counted', (label, message, choice, body) => {
    expect(plainAnswer(frame, bodyOf(message, choice, body)).lost).toContain(label);
    const said = { content: 'a', ...message };
    const chunk = { choices: [{ index: 0, delta: said, finish_reason: 'stop', ...choice }], ...body };
    expect(streamedAnswer(frame, Buffer.from(chatSse([chunk])).toString()).lost).toContain(label);
  });

  it('a part that refuses is a refusal', () => {
    const text = bodyOf({ content: [{ type: 'refusal', refusal: 'I will not' }] });
    expect(JSON.stringify(plainAnswer(frame, text).reply)).toContain('I will not');
  });
});

it('the numbers of a tool’s input are as the node wrote them, plain and streamed', () => {
  const written = '{"id":1234567890123456789,"far":1e400,"zero":-0,"one":1.0}';
  const calls = [{ index: 0, id: 'a', type: 'function', function: { name: 'lookup', arguments: written } }];
  for (const frame of replyFormats.filter(({ format }) => format !== 'completions')) {
    const chunks = Buffer.from(chatSse([delta({ tool_calls: calls }, 'tool_calls')])).toString();
    expect(plainAnswer(frame, bodyOf({ tool_calls: calls })).text.replaceAll('\\', '')).toContain(written);
    expect(streamedAnswer(frame, chunks).text.replaceAll('\\', '')).toContain(written);
  }
});

it.each([
  ['a second object', ['{"a":1}', '{"b":2}'], true],
  ['other text in the same piece', ['{"a":1}</tool>'], true],
  ['white space', ['{"a":1} ', '\n'], false],
])('%s behind the end of streamed arguments is counted or says nothing', (_, pieces, isCounted) => {
  const chunks = pieces.map((text, at) =>
    at === 0 ? call(0, 'a', 'lookup', text) : call(0, undefined, undefined, text),
  );
  for (const frame of replyFormats) {
    const { lost } = streamedAnswer(frame, chatSse([...chunks, delta({}, 'tool_calls')]).toString());
    expect(lost.includes('tool_arguments')).toBe(isCounted);
  }
});

it('a call that is repeated whole in the last chunk is no loss', () => {
  const repeated = call(0, 'a', 'lookup', '{"a":1}');
  for (const frame of replyFormats)
    expect(
      streamedAnswer(frame, chatSse([repeated, repeated, delta({}, 'tool_calls')]).toString()).lost,
    ).not.toContain('tool_arguments');
});

const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

it.each([
  ['nothing', {}, false],
  ['what is empty', { x: { a: {}, b: [], c: '' } }, false],
  ['a value in an object', { x: { a: { b: 1 } } }, true],
  // A node's answer of 600 kB exhausted the stack.
  ['100,000 objects in each other', { x: nested(100_000) }, true],
])('an unread member with %s', (_, body, isNoted) => {
  const unread = new Set<string>();
  if (isObject(body)) noteUnreadBody(body, unread);
  expect(unread.size > 0).toBe(isNoted);
});
