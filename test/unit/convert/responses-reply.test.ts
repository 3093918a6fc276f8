import { describe, expect, it } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import { readChatReply } from '../../../src/convert/chat-reply.ts';
import { convertResponsesReply } from '../../../src/convert/responses-reply.ts';
import { responseProblems } from '../../wire/grammar/responses.ts';
import { callEntry } from './chat-chunks.ts';
import { completion, convert, type Json, replyOf } from './responses-fixtures.ts';

function outputText(text: string, more: Json = {}): Json {
  return { type: 'output_text', text, annotations: [], logprobs: [], ...more };
}

function message(...content: readonly unknown[]): Json {
  return {
    type: 'message',
    id: expect.stringMatching(/^msg_/),
    status: 'completed',
    role: 'assistant',
    content,
  };
}

function functionCall(callId: unknown, name: string, args: string, more: Json = {}): Json {
  const id = expect.stringMatching(/^fc_/);
  return { type: 'function_call', id, call_id: callId, name, arguments: args, status: 'completed', ...more };
}

const thought = { type: 'reasoning', id: expect.stringMatching(/^rs_/), status: 'completed', summary: [] };
const named = [
  { type: 'custom', name: 'patch' },
  {
    type: 'namespace',
    name: 'ns',
    tools: [
      { type: 'function', name: 'f' },
      { type: 'custom', name: 'c' },
    ],
  },
];

const outputs: readonly [name: string, message: object, output: readonly unknown[], request?: Json][] = [
  ['text', { content: 'hi' }, [message(outputText('hi'))]],
  [
    'text in parts',
    {
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    [message(outputText('ab'))],
  ],
  ['nothing', { content: '' }, []],
  ['null', { content: null }, []],
  ['refusal', { content: null, refusal: 'no' }, [message({ type: 'refusal', refusal: 'no' })]],
  [
    'text and refusal',
    { content: 'a', refusal: 'no' },
    [message(outputText('a'), { type: 'refusal', refusal: 'no' })],
  ],
  [
    'reasoning as text',
    { reasoning_content: 'hm', content: 'a' },
    [{ ...thought, content: [{ type: 'reasoning_text', text: 'hm' }] }, message(outputText('a'))],
  ],
  [
    'reasoning as a summary',
    { reasoning: 'hm', content: 'a' },
    [{ ...thought, summary: [{ type: 'summary_text', text: 'hm' }] }, message(outputText('a'))],
    { reasoning: { summary: 'auto' } },
  ],
  [
    'reasoning, text, calls, in this order',
    {
      tool_calls: [callEntry(0, 'a', 'f', '{"x": 1}'), callEntry(1, 'b', 'g', '')],
      content: 'so',
      reasoning_content: 'hm',
    },
    [
      { ...thought, content: [{ type: 'reasoning_text', text: 'hm' }] },
      message(outputText('so')),
      functionCall('a', 'f', '{"x": 1}'),
      functionCall('b', 'g', '{}'),
    ],
  ],
  [
    'legacy function_call',
    { function_call: { name: 'f', arguments: '{}' } },
    [functionCall('call_1', 'f', '{}')],
  ],
  [
    'ids that callers cannot take',
    { tool_calls: [callEntry(0, 'functions.x:0', 'x', '{}')] },
    [functionCall('functions_x_0', 'x', '{}')],
  ],
  [
    'ids that are all the same',
    { tool_calls: [callEntry(0, 'a', 'x', '{}'), callEntry(1, 'a', 'x', '{}')] },
    [functionCall('a', 'x', '{}'), functionCall(expect.stringMatching(/^call_/), 'x', '{}')],
  ],
  [
    'arguments that are no JSON stay text',
    { tool_calls: [callEntry(0, 'a', 'x', 'oops')] },
    [functionCall('a', 'x', 'oops')],
  ],
  [
    'custom, unwrapped',
    { tool_calls: [callEntry(0, 'a', 'patch', '{"input":"*** \\"x\\""}')] },
    [
      {
        type: 'custom_tool_call',
        id: expect.stringMatching(/^ctc_/),
        call_id: 'a',
        name: 'patch',
        input: '*** "x"',
        status: 'completed',
      },
    ],
    { tools: named },
  ],
  [
    'custom that is not wrapped',
    {
      tool_calls: [
        callEntry(0, 'a', 'patch', '*** x'),
        callEntry(1, 'b', 'patch', '{"x":1}'),
        callEntry(2, 'c', 'patch', ''),
      ],
    },
    [{ input: '*** x' }, { input: '{"x":1}' }, { input: '' }].map((part) => expect.objectContaining(part)),
    { tools: named },
  ],
  [
    'of type custom from the node',
    { tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'patch', input: 'x' } }] },
    [expect.objectContaining({ type: 'custom_tool_call', input: 'x' })],
    { tools: named },
  ],
  [
    'namespaces, split',
    { tool_calls: [callEntry(0, 'a', 'ns__f', '{}'), callEntry(1, 'b', 'ns__c', '{"input":"i"}')] },
    [
      functionCall('a', 'f', '{}', { namespace: 'ns' }),
      expect.objectContaining({ type: 'custom_tool_call', name: 'c', namespace: 'ns', input: 'i' }),
    ],
    { tools: named },
  ],
  [
    'annotations',
    {
      content: 'see',
      annotations: [
        {
          type: 'url_citation',
          url_citation: { start_index: 0, end_index: 3, url: 'https://a.example', title: 'A' },
        },
      ],
    },
    [
      message(
        outputText('see', {
          annotations: [
            { type: 'url_citation', start_index: 0, end_index: 3, url: 'https://a.example', title: 'A' },
          ],
        }),
      ),
    ],
  ],
];

describe('output of a response', () => {
  it.each(outputs)('%s', (_name, said, output, request = {}) => {
    const reply = replyOf(completion(said), request);
    expect(reply['output']).toEqual(output);
    expect(responseProblems(reply)).toEqual([]);
  });

  it('holds log probabilities only where they were asked for, with every field', () => {
    const content = [
      { token: 'h', logprob: -0.1, bytes: null, top_logprobs: [{ token: 'h', logprob: -0.1, bytes: [104] }] },
      { token: 3 },
      null,
    ];
    const body = {
      choices: [{ index: 0, message: { content: 'h' }, finish_reason: 'stop', logprobs: { content } }],
    };
    const logprobs = [
      { token: 'h', logprob: -0.1, bytes: [], top_logprobs: [{ token: 'h', logprob: -0.1, bytes: [104] }] },
    ];
    expect(replyOf(body, { top_logprobs: 1 })['output']).toEqual([message(outputText('h', { logprobs }))]);
    expect(replyOf(body)['output']).toEqual([message(outputText('h'))]);
  });
});

describe('the end of a response', () => {
  const cut = {
    tool_calls: [callEntry(0, 'a', 'f', '{}'), callEntry(1, 'b', 'f', '{"x"'), callEntry(2, 'c', 'f', '{}')],
  };
  it.each<[string | null, object, string, unknown, readonly string[]]>([
    ['stop', { content: 'x' }, 'completed', null, ['completed']],
    ['tool_calls', cut, 'completed', null, ['completed', 'completed', 'completed']],
    ['function_call', { content: 'x' }, 'completed', null, ['completed']],
    ['stop', cut, 'completed', null, ['completed', 'completed', 'completed']],
    [null, { content: 'x' }, 'completed', null, ['completed']],
    ['eos', { content: 'x' }, 'completed', null, ['completed']],
    [
      'length',
      { content: 'x', reasoning: 'y' },
      'incomplete',
      { reason: 'max_output_tokens' },
      ['completed', 'incomplete'],
    ],
    ['length', { reasoning: 'y' }, 'incomplete', { reason: 'max_output_tokens' }, ['incomplete']],
    ['length', { content: '' }, 'incomplete', { reason: 'max_output_tokens' }, []],
    ['length', cut, 'incomplete', { reason: 'max_output_tokens' }, ['completed', 'incomplete', 'incomplete']],
    ['content_filter', { content: 'x' }, 'incomplete', { reason: 'content_filter' }, ['incomplete']],
  ])('%s with %j', (finish, said, status, incomplete_details, statuses) => {
    const reply = replyOf(completion(said, finish));
    expect(reply).toMatchObject({ status, incomplete_details, error: null });
    expect(reply['completed_at']).toBe(status === 'completed' ? 1_800_000_000 : null);
    expect(Array.isArray(reply['output']) && reply['output'].map((item) => item.status)).toEqual(statuses);
    expect(responseProblems(reply)).toEqual([]);
  });

  it.each(['error', 'abort', 'insufficient_system_resource', 'some_error'])('%s is a failure', (finish) => {
    expect(() => replyOf(completion({ content: 'x' }, finish))).toThrow('could not finish');
  });
});

describe('usage of a response', () => {
  const zero = { cached_tokens: 0, cache_write_tokens: 0 };
  const rows: readonly [name: string, usage: unknown, expected: Json][] = [
    [
      'plain',
      { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
      {
        input_tokens: 5,
        input_tokens_details: zero,
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 8,
      },
    ],
    [
      'details',
      {
        prompt_tokens: 9,
        completion_tokens: 3,
        total_tokens: 12,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
      {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 12,
      },
    ],
    [
      'DeepSeek’s cache',
      { prompt_tokens: 9, completion_tokens: 3, prompt_cache_hit_tokens: 6 },
      {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 6, cache_write_tokens: 0 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 12,
      },
    ],
    [
      'completion without reasoning',
      {
        prompt_tokens: 291,
        completion_tokens: 26,
        total_tokens: 513,
        completion_tokens_details: { reasoning_tokens: 196 },
      },
      {
        input_tokens: 291,
        input_tokens_details: zero,
        output_tokens: 222,
        output_tokens_details: { reasoning_tokens: 196 },
        total_tokens: 513,
      },
    ],
    [
      'none',
      null,
      {
        input_tokens: 0,
        input_tokens_details: zero,
        output_tokens: 0,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 0,
      },
    ],
  ];
  it.each(rows)('%s', (_name, usage, expected) => {
    expect(replyOf(completion({ content: 'x' }, 'stop', { usage }))['usage']).toEqual(expected);
  });
});

describe('what a response says of its request', () => {
  it('defaults: no number is null', () => {
    const reply = replyOf(completion({ content: 'x' }));
    expect(reply).toMatchObject({
      object: 'response',
      created_at: 1_800_000_000,
      model: 'm',
      previous_response_id: null,
      instructions: null,
      tools: [],
      tool_choice: 'auto',
      truncation: 'disabled',
      parallel_tool_calls: true,
      text: { format: { type: 'text' } },
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      temperature: 1,
      reasoning: { effort: null, summary: null },
      max_output_tokens: null,
      max_tool_calls: null,
      store: false,
      background: false,
      service_tier: 'default',
      metadata: {},
      safety_identifier: null,
      prompt_cache_key: null,
    });
    expect(responseProblems(reply)).toEqual([]);
  });

  it('values that were given', () => {
    const schema = { type: 'object' };
    const given = {
      model: 'alias',
      instructions: 'be',
      temperature: 0,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: -1,
      top_logprobs: 2,
      parallel_tool_calls: false,
      max_output_tokens: 9,
      max_tool_calls: 2,
      metadata: { a: 'b' },
      safety_identifier: 's',
      prompt_cache_key: 'k',
      user: 'u',
      tool_choice: { type: 'function', name: 'f' },
    };
    const more = {
      store: true,
      truncation: 'auto',
      service_tier: 'flex',
      reasoning: { effort: 'xhigh' },
      text: { format: { type: 'json_schema', name: 'n', schema }, verbosity: 'low' },
      tools: [
        { type: 'function', name: 'f' },
        { type: 'function', name: 'g', strict: true, parameters: schema, description: 'd' },
        { type: 'web_search' },
      ],
    };
    expect(
      replyOf(completion({ content: 'x' }, 'stop', { service_tier: 'flex' }), { ...given, ...more }),
    ).toMatchObject({
      ...given,
      store: false,
      truncation: 'disabled',
      service_tier: 'flex',
      reasoning: { effort: 'xhigh', summary: null },
      text: {
        format: { type: 'json_schema', name: 'n', schema, description: null, strict: false },
        verbosity: 'low',
      },
      tools: [
        { type: 'function', name: 'f', description: null, parameters: null, strict: false },
        { type: 'function', name: 'g', description: 'd', parameters: schema, strict: true },
        { type: 'web_search' },
      ],
    });
  });

  it('counts what the node said and a response cannot', () => {
    const { state } = convert({ model: 'm', input: 'hi' });
    const lost = (said: object) => convertResponsesReply(readChatReply(completion(said)), state).lost;
    expect(lost({ content: 'x' })).toEqual([]);
    expect(lost({ thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 's' }] })).toEqual([
      'signature',
    ]);
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }];
    expect(lost({ content: '', annotations })).toEqual(['annotations']);
  });

  it('a body that is a stream is read all the same', () => {
    const sse =
      'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    const { state } = convert({ model: 'm', input: 'hi' });
    const { json } = convertResponsesReply(readChatBody(Buffer.from(sse)), state);
    expect(JSON.parse(json)).toMatchObject({ status: 'completed', output: [message(outputText('hi'))] });
  });
});

it('a request that is too long to be repeated is repeated without its long members', () => {
  const short = { metadata: { a: 'b' }, tools: [{ type: 'function', name: 'f' }] };
  const repeated = (instructions: string) =>
    replyOf(completion({ content: 'hi' }), { ...short, instructions });
  expect(repeated('x'.repeat(200_000))).toMatchObject({ ...short, instructions: 'x'.repeat(200_000) });
  expect(repeated('x'.repeat(300_000))).toMatchObject({ ...short, instructions: null });
});
