import { describe, expect, it } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import { packSignatures } from '../../../src/convert/kept-signatures.ts';
import { convertMessagesReply } from '../../../src/convert/messages-reply.ts';
import { callEntry, chatSse, delta, usageChunk } from './chat-chunks.ts';
import { state, text, tool } from './messages-fixtures.ts';

function reply(
  message: unknown,
  finish: string | null = 'stop',
  more: object = {},
  choiceMore: object = {},
  fields: object = {},
) {
  const body = { id: 'x', choices: [{ index: 0, message, finish_reason: finish, ...choiceMore }], ...more };
  const { json } = convertMessagesReply(readChatBody(Buffer.from(JSON.stringify(body))), state(fields));
  return JSON.parse(json) as Record<string, unknown>;
}

const thinking = (value: string, signature = '') => ({ type: 'thinking', thinking: value, signature });
const calls = (...entries: object[]) => ({ content: null, tool_calls: entries });

const details = [
  { type: 'reasoning.text', text: 'hm', signature: 's' },
  { type: 'reasoning.encrypted', data: 'x' },
];
const packed = packSignatures({ details }, 'node-model');

const contents: readonly [name: string, message: object, content: readonly object[]][] = [
  ['content string', { content: 'a' }, [text('a')]],
  ['content null', { content: null }, []],
  ['content absent', {}, []],
  ['content ""', { content: '' }, []],
  ['content white space', { content: '\n' }, []],
  ['reasoning white space', { reasoning_content: '\n', content: 'a' }, [text('a')]],
  [
    'content parts',
    {
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    [text('ab')],
  ],
  [
    'content parts with thinking',
    {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
        { type: 'text', text: 'a' },
      ],
    },
    [thinking('hm'), text('a')],
  ],
  ['reasoning_content', { reasoning_content: 'hm', content: 'a' }, [thinking('hm'), text('a')]],
  ['reasoning', { reasoning: 'hm', content: 'a' }, [thinking('hm'), text('a')]],
  [
    'thinking_blocks with signature',
    {
      thinking_blocks: [
        { type: 'thinking', thinking: 'x', signature: 's' },
        { type: 'thinking', thinking: 'y', signature: 't' },
      ],
      content: 'a',
    },
    [thinking('x', 's'), thinking('y', 't'), text('a')],
  ],
  [
    '6.8 both: once, with the signature',
    {
      reasoning_content: 'hm',
      thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }],
      content: 'a',
    },
    [thinking('hm', 's'), text('a')],
  ],
  [
    '6.8 both, cut where the signatures belong',
    {
      reasoning_content: 'xy',
      thinking_blocks: [
        { type: 'thinking', thinking: 'x', signature: 's' },
        { type: 'thinking', thinking: 'y', signature: 't' },
      ],
    },
    [thinking('x', 's'), thinking('y', 't')],
  ],
  [
    '6.8 both, cut otherwise',
    {
      reasoning_content: 'x\ny',
      thinking_blocks: [
        { type: 'thinking', thinking: 'x', signature: 's' },
        { type: 'thinking', thinking: 'y', signature: 't' },
      ],
    },
    [thinking('x\ny', 't')],
  ],
  [
    'reasoning_details',
    {
      reasoning_details: details,
      content: 'a',
    },
    [thinking('hm', 's'), { type: 'redacted_thinking', data: packed }, text('a')],
  ],
  ['tool call', calls(callEntry(undefined, 'a', 'f', '{"x":1}')), [tool('a', 'f', { x: 1 })]],
  [
    '6.4 parallel tool calls',
    calls(callEntry(undefined, 'a', 'f', '{}'), callEntry(undefined, 'b', 'g', '{}')),
    [tool('a', 'f'), tool('b', 'g')],
  ],
  ['6.20 arguments ""', calls(callEntry(undefined, 'a', 'f', '')), [tool('a', 'f')]],
  ['arguments absent', calls(callEntry(undefined, 'a', 'f')), [tool('a', 'f')]],
  ['arguments null as text', calls(callEntry(undefined, 'a', 'f', 'null')), [tool('a', 'f')]],
  ['arguments no JSON', calls(callEntry(undefined, 'a', 'f', '{"x":')), [tool('a', 'f', { _raw: '{"x":' })]],
  ['arguments a list', calls(callEntry(undefined, 'a', 'f', '[1]')), [tool('a', 'f', { _raw: '[1]' })]],
  [
    'arguments an object',
    calls({ id: 'a', function: { name: 'f', arguments: { x: 1 } } }),
    [tool('a', 'f', { x: 1 })],
  ],
  [
    'custom call',
    calls({ id: 'a', type: 'custom', custom: { name: 'f', input: 'say "hi"' } }),
    [tool('a', 'f', { input: 'say "hi"' })],
  ],
  [
    'legacy function_call',
    { content: null, function_call: { name: 'f', arguments: '{"x":1}' } },
    [tool('toolu_1', 'f', { x: 1 })],
  ],
  [
    'odd ids',
    calls(callEntry(undefined, 'functions.f:0', 'f', '{}'), callEntry(undefined, '', 'f', '{}')),
    [tool('functions_f_0', 'f'), tool('toolu_1', 'f')],
  ],
  ['refusal', { content: null, refusal: 'no' }, [text('no')]],
];

const stops: readonly [finish: string | null, message: object, reason: string][] = [
  ['stop', { content: 'a' }, 'end_turn'],
  ['tool_calls', calls(callEntry(0, 'a', 'f', '{}')), 'tool_use'],
  ['function_call', { function_call: { name: 'f', arguments: '{}' } }, 'tool_use'],
  ['stop', calls(callEntry(0, 'a', 'f', '{}')), 'tool_use'],
  ['length', { content: 'a' }, 'max_tokens'],
  ['length', calls(callEntry(0, 'a', 'f', '{"x')), 'max_tokens'],
  ['content_filter', { content: 'a' }, 'refusal'],
  ['stop', { refusal: 'no' }, 'refusal'],
  [null, { content: 'a' }, 'end_turn'],
  [null, calls(callEntry(0, 'a', 'f', '{}')), 'tool_use'],
  ['eos', { content: 'a' }, 'end_turn'],
];

describe('messages reply', () => {
  it.each(contents)('%s', (_, message, content) => {
    expect(reply(message)['content']).toEqual(content);
  });

  it.each(stops)('finish_reason %s with %j is %s', (finish, message, reason) => {
    expect(reply(message, finish)['stop_reason']).toBe(reason);
  });

  it('has every field of a message', () => {
    expect(reply({ role: 'assistant', content: 'a' })).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [text('a')],
      container: null,
      context_management: null,
      diagnostics: null,
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      usage: {
        input_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 0,
        output_tokens_details: null,
        cache_creation: null,
        inference_geo: null,
        server_tool_use: null,
        service_tier: null,
        speed: null,
        iterations: null,
        fallback_credit: null,
      },
    });
  });

  it('tells a refusal in stop_details', () => {
    expect(reply({ refusal: 'no' })['stop_details']).toEqual({
      type: 'refusal',
      category: null,
      explanation: null,
      recommended_model: null,
      fallback_credit_token: null,
      fallback_has_prefill_claim: null,
    });
  });

  it('cut arguments are {}', () => {
    expect(reply(calls(callEntry(0, 'a', 'f', '{"x')), 'length')['content']).toEqual([tool('a', 'f')]);
  });

  it('names a stop sequence that was asked for', () => {
    const named = reply({ content: 'a' }, 'stop', {}, { stop_reason: 'END' }, { stop_sequences: ['END'] });
    expect([named['stop_reason'], named['stop_sequence']]).toEqual(['stop_sequence', 'END']);
    expect(reply({ content: 'a' }, 'stop', {}, { stop_reason: 'END' })['stop_reason']).toBe('end_turn');
    expect(reply({ content: 'a' }, 'stop', {}, { stop_reason: 128001 })['stop_reason']).toBe('end_turn');
  });

  it.each([
    [
      'OpenAI',
      { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 80 } },
      [20, 80, 0, 5],
    ],
    ['DeepSeek', { prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 60 }, [40, 60, 0, 5]],
    [
      'cache writes',
      {
        prompt_tokens: 100,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 20 },
      },
      [70, 10, 20, 5],
    ],
    [
      'cache creation',
      { prompt_tokens: 100, completion_tokens: 5, cache_creation_input_tokens: 30 },
      [70, 0, 30, 5],
    ],
    [
      'xAI',
      {
        prompt_tokens: 291,
        completion_tokens: 26,
        total_tokens: 513,
        completion_tokens_details: { reasoning_tokens: 196 },
      },
      [291, 0, 0, 222],
    ],
    [
      'more cached than sent',
      { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 80 } },
      [0, 80, 0, 5],
    ],
    ['nonsense', { prompt_tokens: 'x', completion_tokens: -3, total_tokens: null }, [0, 0, 0, 0]],
    ['fractions', { prompt_tokens: 10.4, completion_tokens: 5 }, [10, 0, 0, 5]],
  ])('usage: %s', (_, usage, [input, read, write, output]) => {
    expect(reply({ content: 'a' }, 'stop', { usage })['usage']).toMatchObject({
      input_tokens: input,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: write,
      output_tokens: output,
    });
  });

  it('tells thinking tokens where the node does', () => {
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 9,
      completion_tokens_details: { reasoning_tokens: 4 },
    };
    expect(reply({ content: 'a' }, 'stop', { usage })['usage']).toMatchObject({
      output_tokens_details: { thinking_tokens: 4 },
    });
  });

  it('6.52 collects a stream that nobody asked for', () => {
    const bytes = chatSse([
      delta({ reasoning: 'hm' }),
      delta({ content: 'a' }),
      delta({ tool_calls: [callEntry(0, 'a', 'f', '{"x"')] }),
      delta({ tool_calls: [callEntry(0, undefined, undefined, ':1}')] }),
      delta({}, 'tool_calls'),
      usageChunk(3, 2),
    ]);
    const { json } = convertMessagesReply(readChatBody(bytes), state());
    expect(JSON.parse(json)).toMatchObject({
      content: [thinking('hm'), text('a'), tool('a', 'f', { x: 1 })],
      stop_reason: 'tool_use',
      usage: { input_tokens: 3 },
    });
  });

  it('6.53 looks at the body, not at what it is called', () => {
    const stream = chatSse([delta({ content: 'a' }, 'stop')]);
    const json = Buffer.from('\ufeff \n{"choices":[{"message":{"content":"a"}}]}');
    for (const bytes of [stream, json])
      expect(JSON.parse(convertMessagesReply(readChatBody(bytes), state()).json)).toMatchObject({
        content: [text('a')],
      });
  });

  it('collects logprobs of a stream', () => {
    const chunk = (token: string) => ({
      choices: [{ delta: { content: token }, logprobs: { content: [{ token }] } }],
    });
    const answer = readChatBody(chatSse([chunk('a'), chunk('b')]));
    expect(answer.logprobs).toEqual([{ token: 'a' }, { token: 'b' }]);
  });

  it.each([
    ['error in spite of 200', { error: { message: 'no', code: 'rate_limit_exceeded' } }, 'reported', 429],
    ['error in the choice', { choices: [{ error: { message: 'no', code: 502 } }] }, 'reported', 502],
    ['error text', { error: 'no' }, 'reported', 502],
    ['no choices', { choices: [] }, 'empty', 502],
    ['nothing', {}, 'empty', 502],
    ['no object', 3, 'empty', 502],
    ['choice without message', { choices: [{}] }, 'malformed', 502],
    [
      'finish_reason error',
      { choices: [{ message: { content: 'a' }, finish_reason: 'error' }] },
      'reported',
      502,
    ],
    [
      'call without a name',
      { choices: [{ message: { tool_calls: [{ id: 'a', function: { arguments: '{}' } }] } }] },
      'malformed',
      502,
    ],
  ])('is a fault: %s', (_, body, kind, status) => {
    expect(() => readChatBody(Buffer.from(JSON.stringify(body)))).toThrowError(
      expect.objectContaining({ kind, status }),
    );
  });

  it.each([
    ['HTML', '<html></html>', 'empty'],
    ['nothing', '', 'empty'],
    ['half of JSON', '{"choices":[', 'malformed'],
    ['half of a stream', 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', 'truncated'],
  ])('is a fault: %s', (_, body, kind) => {
    expect(() => readChatBody(Buffer.from(body))).toThrowError(expect.objectContaining({ kind }));
  });

  it('counts what the format cannot say', () => {
    const body = {
      choices: [
        {
          message: {
            content: 'a',
            annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }],
          },
        },
      ],
    };
    expect(convertMessagesReply(readChatBody(Buffer.from(JSON.stringify(body))), state()).lost).toEqual([
      'annotations',
    ]);
  });
});
