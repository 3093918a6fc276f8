import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChatReply } from '../../../src/convert/chat-reply.ts';
import { ChatStream } from '../../../src/convert/chat-stream.ts';
import { convertCompletionsReply } from '../../../src/convert/completions-reply.ts';
import { convertCompletionsRequest } from '../../../src/convert/completions-request.ts';
import { type CompletionsOpened, createCompletionsStream } from '../../../src/convert/completions-stream.ts';
import type { DialectWish } from '../../../src/convert/dialect.ts';
import { isObject, listOf } from '../../../src/convert/json.ts';
import { openAIFailure, openAIRefusal } from '../../../src/convert/openai-errors.ts';
import { UpstreamFault } from '../../../src/convert/upstream-fault.ts';
import { parseAsWritten } from '../../../src/convert/written-numbers.ts';
import { checkChatRequest } from '../../wire/grammar/chat-request.ts';
import { anyChunks } from './chat-arbitraries.ts';
import { call, chatSse, delta, usageChunk } from './chat-chunks.ts';
import { completion, dialectWith, type Json, options, refusalOf } from './responses-fixtures.ts';

function convert(body: unknown, dialect: DialectWish = {}, strict = false) {
  return convertCompletionsRequest(body, options(dialectWith(dialect), strict));
}

const bare = { model: 'upstream-model', messages: [{ role: 'user', content: 'p' }], max_tokens: 16 };

const fields: readonly [
  name: string,
  body: Json,
  chat: Json,
  dropped?: readonly string[],
  dialect?: DialectWish,
][] = [
  ['nothing but a prompt', {}, {}],
  ['max_tokens', { max_tokens: 5 }, { max_tokens: 5 }],
  ['max_tokens null', { max_tokens: null }, {}],
  [
    'sampling',
    { temperature: 0, top_p: 1, presence_penalty: -2, frequency_penalty: 2 },
    { temperature: 0, top_p: 1, presence_penalty: -2, frequency_penalty: 2 },
  ],
  ['stop', { stop: 'x' }, { stop: 'x' }],
  ['stops', { stop: ['x', 'y'] }, { stop: ['x', 'y'] }],
  [
    'seed and logit_bias',
    { seed: -3, logit_bias: { 50256: -100 } },
    { seed: -3, logit_bias: { 50256: -100 } },
  ],
  ['user', { user: 'u' }, {}, ['user']],
  ['user at OpenAI', { user: 'u' }, { user: 'u' }, [], { openAIExtras: true }],
  ['stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
  [
    'what asks for nothing',
    { suffix: null, best_of: 1, n: 1, logprobs: null, echo: false, stream: false },
    {},
  ],
  ['unknown fields', { min_p: 0.1, x: null }, {}, ['min_p']],
];

it.each([
  ['seed', '12345678901234567890', 'an integer that a double holds'],
  ['logit_bias', '12345678901234567890', 'got an integer instead'],
  ['stop', '1.0', 'got an integer instead'],
])('%s of %s is refused with what is wrong of it', (field, number, said) => {
  const body = parseAsWritten(`{"model":"m","prompt":"p","${field}":${number}}`);
  expect(JSON.stringify(openAIRefusal(refusalOf(() => convert(body))).body)).toContain(said);
});

describe('a completions request', () => {
  const rows = fields.map(([name, body, chat, dropped = [], dialect = {}]) => ({
    name,
    body,
    chat,
    dropped,
    dialect,
  }));
  it.each(rows)('$name', ({ body, chat, dropped, dialect }) => {
    const converted = convert({ model: 'm', prompt: 'p', ...body }, dialect);
    expect(converted.chats).toEqual([{ ...bare, ...chat }]);
    expect(converted.dropped).toEqual(dropped);
    for (const one of converted.chats) checkChatRequest(one);
  });

  it('asks for 16 tokens unless told, in the node’s field', () => {
    const [chat] = convert({ model: 'm', prompt: 'p' }, { maxTokensField: 'MaxCompletionTokens' }).chats;
    expect(chat).toMatchObject({ max_completion_tokens: 16 });
    expect(chat).not.toHaveProperty('max_tokens');
  });

  it('asks once per prompt and choice, in the order of their indexes', () => {
    const { chats } = convert({ model: 'm', prompt: ['a', 'b'], n: 2 });
    expect(chats.map((chat) => chat.messages[0]?.content)).toEqual(['a', 'a', 'b', 'b']);
    for (const chat of chats) expect(chat).not.toHaveProperty('n');
  });

  it('is refused for a strict key where something is lost', () => {
    expect(refusalOf(() => convert({ model: 'm', prompt: 'p', min_p: 1 }, {}, true)).param).toBe('min_p');
    expect(() => convert({ model: 'm', prompt: 'p', user: 'u' }, {}, true)).not.toThrow();
  });

  it('stays as it was', () => {
    const body = Object.freeze({
      model: 'm',
      prompt: Object.freeze(['a']),
      logit_bias: Object.freeze({ 1: 2 }),
    });
    expect(convert(body).chats).toEqual(convert(body).chats);
  });

  const sixteen = Array.from({ length: 16 }, () => 'p');
  it('may ask for sixteen', () => {
    expect(convert({ model: 'm', prompt: sixteen }).chats).toHaveLength(16);
    expect(convert({ model: 'm', prompt: 'p', n: 16 }).chats).toHaveLength(16);
  });

  it.each<[string, unknown, string, string]>([
    ['no object', 'x', 'invalid_type', 'body'],
    ['no model', { prompt: 'p' }, 'missing_required_parameter', 'model'],
    ['no prompt', { model: 'm' }, 'missing_required_parameter', 'prompt'],
    ['a prompt of a wrong type', { model: 'm', prompt: 3 }, 'invalid_type', 'prompt'],
    ['no prompts', { model: 'm', prompt: [] }, 'empty_array', 'prompt'],
    ['tokens', { model: 'm', prompt: [1, 2] }, 'unsupported_parameter', 'prompt'],
    ['lists of tokens', { model: 'm', prompt: [[1, 2]] }, 'unsupported_parameter', 'prompt'],
    ['a prompt that is no text', { model: 'm', prompt: ['a', null] }, 'invalid_type', 'prompt[1]'],
    ['seventeen prompts', { model: 'm', prompt: [...sixteen, 'p'] }, 'invalid_value', 'prompt'],
    ['too many choices', { model: 'm', prompt: ['a', 'b'], n: 9 }, 'invalid_value', 'n'],
    ['no choice', { model: 'm', prompt: 'p', n: 0 }, 'invalid_value', 'n'],
    ['suffix', { model: 'm', prompt: 'p', suffix: 's' }, 'unsupported_parameter', 'suffix'],
    ['best_of', { model: 'm', prompt: 'p', best_of: 2 }, 'unsupported_parameter', 'best_of'],
    ['logprobs', { model: 'm', prompt: 'p', logprobs: 0 }, 'unsupported_parameter', 'logprobs'],
    [
      'max_tokens of a wrong type',
      { model: 'm', prompt: 'p', max_tokens: 'x' },
      'invalid_type',
      'max_tokens',
    ],
    ['max_tokens 0', { model: 'm', prompt: 'p', max_tokens: 0 }, 'invalid_value', 'max_tokens'],
    ['temperature', { model: 'm', prompt: 'p', temperature: 3 }, 'invalid_value', 'temperature'],
    ['echo of a wrong type', { model: 'm', prompt: 'p', echo: 1 }, 'invalid_type', 'echo'],
    [
      'echo of too much',
      { model: 'm', prompt: 'x'.repeat(600_000), n: 2, echo: true },
      'unsupported_value',
      'echo',
    ],
    ['stop of a wrong type', { model: 'm', prompt: 'p', stop: 1 }, 'invalid_type', 'stop'],
    [
      'too many stops',
      { model: 'm', prompt: 'p', stop: ['a', 'b', 'c', 'd', 'e'] },
      'array_above_max_length',
      'stop',
    ],
    ['logit_bias of a wrong type', { model: 'm', prompt: 'p', logit_bias: [] }, 'invalid_type', 'logit_bias'],
  ])('refused: %s', (_name, body, code, param) => {
    const { status, body: answer } = openAIRefusal(refusalOf(() => convert(body)));
    expect(status).toBe(400);
    expect(answer).toMatchObject({ error: { type: 'invalid_request_error', code, param } });
  });
});

function reply(request: Json, ...said: readonly object[]) {
  const { state } = convert({ model: 'm', prompt: 'p', ...request });
  const answers = said.map((body) => readChatReply(body));
  const { json, lost } = convertCompletionsReply(answers, state);
  return { body: JSON.parse(json), lost };
}

describe('a completions reply', () => {
  it('is a text_completion', () => {
    expect(reply({}, completion({ content: ' hi' })).body).toEqual({
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1_800_000_000,
      model: 'm',
      choices: [{ text: ' hi', index: 0, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    });
  });

  it('merges several, their index being their place, their usage added up', () => {
    const usage = {
      prompt_tokens: 5,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 1 },
    };
    const { body } = reply(
      { prompt: ['a', 'b'] },
      completion({ content: 'x' }),
      completion({ content: 'y' }, 'length', { usage }),
    );
    expect(body).toMatchObject({
      choices: [
        { text: 'x', index: 0, finish_reason: 'stop' },
        { text: 'y', index: 1, finish_reason: 'length' },
      ],
      usage: {
        prompt_tokens: 12,
        completion_tokens: 5,
        total_tokens: 17,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
    });
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'stop'],
    [null, 'stop'],
  ])('finish_reason %s is %s', (finish, expected) => {
    expect(reply({}, completion({ content: 'x' }, finish)).body).toMatchObject({
      choices: [{ finish_reason: expected }],
    });
  });

  it('6.61 echo repeats the prompt', () => {
    const { body } = reply(
      { prompt: ['a', 'b'], echo: true },
      completion({ content: 'x' }),
      completion({ content: 'y' }),
    );
    expect(body).toMatchObject({ choices: [{ text: 'ax' }, { text: 'by' }] });
  });

  it('has no reasoning in its text; a refusal is text; what is lost is counted', () => {
    const said = { content: null, refusal: 'no', reasoning: 'hm', tool_calls: [{ function: { name: 'f' } }] };
    const { body, lost } = reply({}, completion(said));
    expect(body).toMatchObject({ choices: [{ text: 'no' }] });
    expect(lost).toEqual(['reasoning', 'tool_calls']);
  });

  it('of a node that failed is an error in OpenAI’s shape', () => {
    const fault = new UpstreamFault('reported', 'no', { status: 429 });
    expect(openAIFailure(fault)).toEqual({
      status: 429,
      body: { error: { message: 'no', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } },
    });
  });
});

/** The stream of all choices, one behind the other, cut into pieces of `size`. */
function streamOf(request: Json, bytes: readonly Buffer[], size = 1_000_000): readonly string[] {
  const { state } = convert({ model: 'm', prompt: 'p', stream: true, ...request });
  const out: string[] = [];
  let opened: CompletionsOpened | undefined;
  for (const [choice, one] of bytes.entries()) {
    const stream = createCompletionsStream(state, choice, opened);
    for (let at = 0; at < one.length; at += size) out.push(...stream.push(one.subarray(at, at + size)));
    out.push(...stream.end());
    if (stream.fault !== undefined) return [...out, ...stream.fail(stream.fault)];
    opened = stream.opened;
  }
  return out;
}

function payloads(events: readonly string[]): readonly unknown[] {
  return events.map((event) => {
    const data = /^data: (.+)\n\n$/.exec(event)?.[1] ?? '';
    return data === '[DONE]' ? data : JSON.parse(data);
  });
}

const chunk = { id: 'cmpl-1', object: 'text_completion', created: 1_800_000_000, model: 'm' };
const choice = (text: string, finish_reason: string | null = null, index = 0) => ({
  ...chunk,
  choices: [{ text, index, logprobs: null, finish_reason }],
});
const hi = chatSse([
  delta({ role: 'assistant', content: '' }),
  delta({ content: 'h' }),
  delta({ content: 'i' }),
  delta({}, 'stop'),
  usageChunk(2, 3),
]);

describe('a completions stream', () => {
  it('has chunks of text and [DONE]', () => {
    expect(payloads(streamOf({}, [hi]))).toEqual([choice('h'), choice('i'), choice('', 'stop'), '[DONE]']);
  });

  it('6.43 gives usage only to callers who ask', () => {
    const stream_options = { include_usage: true };
    const usage = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 };
    expect(payloads(streamOf({ stream_options }, [hi]))).toEqual([
      { ...choice('h'), usage: null },
      { ...choice('i'), usage: null },
      { ...choice('', 'stop'), usage: null },
      { ...chunk, choices: [], usage },
      '[DONE]',
    ]);
  });

  it('streams several choices one after the other, with one id, one sum and one [DONE]', () => {
    const stream_options = { include_usage: true };
    const all = payloads(streamOf({ prompt: ['a', 'b'], echo: true, stream_options }, [hi, hi]));
    expect(all).toEqual([
      ...[choice('a'), choice('h'), choice('i'), choice('', 'stop')].map((one) => ({ ...one, usage: null })),
      ...[choice('b', null, 1), choice('h', null, 1), choice('i', null, 1), choice('', 'stop', 1)].map(
        (one) => ({ ...one, usage: null }),
      ),
      { ...chunk, choices: [], usage: { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 } },
      '[DONE]',
    ]);
  });

  it('6.61 echoes the prompt also where the answer is empty', () => {
    const empty = chatSse([delta({ content: '' }), delta({}, 'length')]);
    expect(payloads(streamOf({ echo: true }, [empty]))).toEqual([
      choice('p'),
      choice('', 'length'),
      '[DONE]',
    ]);
  });

  it('is the same however the input is cut', () => {
    const whole = streamOf({ echo: true }, [hi, hi]).join('');
    for (const size of [1, 2, 7]) expect(streamOf({ echo: true }, [hi, hi], size).join('')).toBe(whole);
    const crlf = Buffer.from(hi.toString().replaceAll('\n', '\r\n'));
    expect(streamOf({ echo: true }, [crlf, crlf], 3).join('')).toBe(whole);
  });

  it('holds back until the first content, keeps alive with comments', () => {
    const { state } = convert({ model: 'm', prompt: 'p', stream: true });
    const stream = createCompletionsStream(state, 0);
    expect(
      stream.push(
        chatSse([delta({ role: 'assistant', content: '' }), delta({ reasoning: 'h' })], { done: false }),
      ),
    ).toEqual([]);
    expect(stream.keepAlive()).toEqual([': keepalive\n\n']);
    expect([stream.hasContent, stream.opened]).toEqual([false, undefined]);
    expect(stream.push(chatSse([delta({ content: 'a' })], { done: false }))).toHaveLength(1);
    expect([stream.hasContent, stream.lost]).toEqual([true, ['reasoning']]);
  });

  it.each<[string, Buffer]>([
    ['early end', chatSse([delta({ content: 'a' })], { done: false })],
    ['error chunk', chatSse([delta({ content: 'a' }), { error: { message: 'no' } }])],
  ])('%s: an error and no [DONE]', (_name, bytes) => {
    const all = payloads(streamOf({}, [bytes]));
    expect(all).toEqual([
      choice('a'),
      { error: { message: expect.any(String), type: 'server_error', param: null, code: expect.any(String) } },
    ]);
  });

  it('counts calls, which cannot be said', () => {
    const { state } = convert({ model: 'm', prompt: 'p', stream: true });
    const stream = createCompletionsStream(state, 0);
    stream.push(chatSse([call(0, 'a', 'f', '{}'), delta({}, 'tool_calls')]));
    expect([stream.done, stream.lost]).toEqual([true, ['tool_calls']]);
  });

  it('of anything that a node may send ends in [DONE] or in an error, and says all of the text', () => {
    fc.assert(
      fc.property(anyChunks, fc.boolean(), fc.integer({ min: 1, max: 40 }), (chunks, done, size) => {
        const bytes = chatSse(chunks, { done });
        const all = payloads(streamOf({ echo: true }, [bytes], size));
        const told = all.flatMap((one) => (isObject(one) ? listOf(one['choices']) : [])).filter(isObject);
        const text = told.map((one) => one['text']).join('');
        const chat = new ChatStream();
        const events = [...chat.push(bytes), ...chat.end()];
        const said = events
          .map((event) => (event.type === 'text' || event.type === 'refusal' ? event.text : ''))
          .join('');
        const sound = events.at(-1)?.type === 'end';
        expect(all.at(-1)).toEqual(sound ? '[DONE]' : { error: expect.anything() });
        expect(all.filter((one) => one === '[DONE]')).toHaveLength(sound ? 1 : 0);
        expect(text).toBe(sound || said !== '' ? `p${said}` : '');
        const ends = told.filter((one) => one['finish_reason'] !== null);
        expect(ends).toHaveLength(sound ? 1 : 0);
      }),
      { numRuns: 150, seed: 7 },
    );
  });
});
