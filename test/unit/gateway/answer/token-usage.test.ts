import { describe, expect, test } from 'vitest';
import { readTokenUsage } from '../../../../src/gateway/answer/token-usage.ts';

const read = (answer: string, start?: string) =>
  readTokenUsage(Buffer.from(answer), start === undefined ? undefined : Buffer.from(start));
const chat = { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 };

describe('usage is read from the end of', () => {
  test.each<[string, unknown, object]>([
    ['a chat answer', { choices: [], usage: chat }, { input: 19, output: 10 }],
    [
      'one with details',
      {
        usage: {
          ...chat,
          prompt_tokens_details: { audio_tokens: 1, cached_tokens: 3 },
          completion_tokens_details: { reasoning_tokens: 4, image_tokens: 9 },
        },
        system_fingerprint: 'x',
      },
      { input: 19, output: 10, cached: 3, reasoning: 4 },
    ],
    ['DeepSeek’s', { usage: { ...chat, prompt_cache_hit_tokens: 7 } }, { input: 19, output: 10, cached: 7 }],
    ['embeddings', { usage: { prompt_tokens: 8, total_tokens: 8 } }, { input: 8 }],
    [
      'messages, where the cache is not in the input',
      {
        usage: {
          input_tokens: 5,
          cache_creation_input_tokens: 20,
          cache_read_input_tokens: 300,
          cache_creation: { ephemeral_5m_input_tokens: 20 },
          output_tokens: 6,
          service_tier: 'a"b',
          output_tokens_details: { thinking_tokens: 2 },
          iterations: [{ input_tokens: 99, output_tokens: 99 }],
        },
      },
      { input: 325, output: 6, cached: 300, reasoning: 2 },
    ],
    [
      'a response, with much behind it',
      {
        usage: {
          input_tokens: 11,
          input_tokens_details: { cached_tokens: 2 },
          output_tokens: 12,
          output_tokens_details: { reasoning_tokens: 3 },
        },
        metadata: { long: 'x'.repeat(9000) },
      },
      { input: 11, output: 12, cached: 2, reasoning: 3 },
    ],
  ])('%s', (_, answer, expected) => {
    const all = { input: 0, output: 0, cached: 0, reasoning: 0, ...expected };
    expect(read(JSON.stringify(answer))).toEqual(all);
    expect(read(JSON.stringify(answer, null, 2))).toEqual(all);
  });

  test('a chat stream, whose last chunks may say null', () => {
    const stream = `data: {"choices":[],"usage":${JSON.stringify(chat)}}\n\ndata: {"usage":null}\n\ndata: [DONE]\n\n`;
    expect(read(stream)).toMatchObject({ input: 19, output: 10 });
  });

  test('a messages stream, whose start tells what its end leaves out', () => {
    const start =
      '{"type":"message_start","message":{"usage":{"input_tokens":4,"cache_read_input_tokens":90,"output_tokens":1}}}';
    const end =
      'event: message_delta\ndata: {"usage":{"output_tokens":15}}\n\nevent: message_stop\ndata: {}\n\n';
    expect(read(end, start)).toEqual({ input: 94, output: 15, cached: 90, reasoning: 0 });
    expect(read(end.replace('{"out', '{"input_tokens":5,"out'), start)).toMatchObject({
      input: 5,
      cached: 0,
    });
  });
});

test('what is no usage is none', () => {
  for (const answer of [
    '',
    '{}',
    '"usage"',
    '{"usage":null}',
    '{"usage":{}}',
    '{"usage":{"prompt_tokens":null}}',
    '{"usage":"prompt_tokens"}',
    JSON.stringify({ content: '"usage":{"prompt_tokens":1}' }),
    `{"usage":{"prompt_tokens":1}}${' '.repeat(40_000)}`,
  ]) {
    expect([answer.slice(0, 60), read(answer)]).toEqual([answer.slice(0, 60), undefined]);
  }
});

test('what is cut off or absurd does no harm', () => {
  expect(read('{"usage":{"prompt_tokens":12')).toMatchObject({ input: 12 });
  expect(read('{"usage":{"prompt_tok\\')).toBeUndefined();
  expect(read(`{"usage":{"prompt_tokens":${'9'.repeat(40)},"completion_tokens":-5}}`)).toEqual({
    input: Number.MAX_SAFE_INTEGER,
    output: 0,
    cached: 0,
    reasoning: 0,
  });
  expect(read('{"usage":{"prompt_tokens":1.9,"completion_tokens":2}}')).toMatchObject({
    input: 1,
    output: 2,
  });
});
