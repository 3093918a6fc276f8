import { describe, expect, it } from 'vitest';
import { ResponsesOutput } from '../../../src/convert/responses-output.ts';
import { createResponsesStream } from '../../../src/convert/responses-stream.ts';
import { UpstreamFault } from '../../../src/convert/upstream-fault.ts';
import { computedMs } from '../../support/computed.ts';
import { readResponsesStream } from '../../wire/grammar/responses.ts';
import { call, callEntry, chatSse, delta, usageChunk } from './chat-chunks.ts';
import { convert, type Json, streamOf } from './responses-fixtures.ts';

const citation = {
  type: 'url_citation',
  url_citation: { start_index: 0, end_index: 2, url: 'https://a.example', title: 'A' },
};

/** Reads a converted stream and insists on the grammar. */
function read(chunks: readonly unknown[], request: Json = {}) {
  const transcript = readResponsesStream(streamOf(chatSse(chunks), request));
  expect(transcript.problems).toEqual([]);
  return transcript;
}

/** The types of the events behind the opening, without `response.`; repetitions once. */
function steps(chunks: readonly unknown[], request: Json = {}): readonly string[] {
  const short = read(chunks, request)
    .types.slice(2)
    .map((type) => type.replace('response.', ''));
  return short.filter((type, index) => type !== short[index - 1]);
}

const stop = delta({}, 'stop');
const item = (...inner: readonly string[]) => ['output_item.added', ...inner, 'output_item.done'];
const text = item('content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done');
const refusal = item('content_part.added', 'refusal.delta', 'refusal.done', 'content_part.done');
const thought = item(
  'content_part.added',
  'reasoning_text.delta',
  'reasoning_text.done',
  'content_part.done',
);
const summarized = item(
  'reasoning_summary_part.added',
  'reasoning_summary_text.delta',
  'reasoning_summary_text.done',
  'reasoning_summary_part.done',
);
const fn = item('function_call_arguments.delta', 'function_call_arguments.done');
const custom = item('custom_tool_call_input.delta', 'custom_tool_call_input.done');
const patch = { tools: [{ type: 'custom', name: 'patch' }] };

const sequences: readonly [
  name: string,
  chunks: readonly unknown[],
  steps: readonly string[],
  request?: Json,
][] = [
  [
    'text',
    [delta({ role: 'assistant', content: '' }), delta({ content: 'a' }), delta({ content: 'b' }), stop],
    [...text, 'completed'],
  ],
  ['nothing', [delta({ role: 'assistant', content: '' }), stop], ['completed']],
  ['refusal', [delta({ refusal: 'n' }), delta({ refusal: 'o' }), stop], [...refusal, 'completed']],
  [
    'text, then refusal',
    [delta({ content: 'a' }), delta({ refusal: 'no' }), stop],
    [...text.slice(0, -1), ...refusal.slice(1), 'completed'],
  ],
  [
    'reasoning, then text',
    [delta({ reasoning_content: 'h' }), delta({ content: 'a' }), stop],
    [...thought, ...text, 'completed'],
  ],
  [
    'reasoning as a summary',
    [delta({ reasoning: 'h' }), stop],
    [...summarized, 'completed'],
    { reasoning: { summary: 'auto' } },
  ],
  [
    'a call',
    [call(0, 'a', 'f', ''), call(0, undefined, undefined, '{}'), delta({}, 'tool_calls')],
    [...fn, 'completed'],
  ],
  [
    'text, then a call',
    [delta({ content: 'a' }), call(0, 'a', 'f', '{}'), stop],
    [...text, ...fn, 'completed'],
  ],
  [
    'a call, then text',
    [call(0, 'a', 'f', '{}'), delta({ content: 'a' }), stop],
    [...fn, ...text, 'completed'],
  ],
  ['a call without arguments', [call(0, 'a', 'f'), stop], [...fn, 'completed']],
  [
    'a custom call',
    [call(0, 'a', 'patch', '{"input":'), call(0, undefined, undefined, '"x"}'), stop],
    [...custom, 'completed'],
    patch,
  ],
  [
    'calls side by side',
    [
      call(0, 'a', 'f', '{"x":'),
      call(1, 'b', 'f', '{"y":'),
      call(0, undefined, undefined, '1}'),
      call(1, undefined, undefined, '2}'),
      stop,
    ],
    [
      'output_item.added',
      'function_call_arguments.delta',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ],
  ],
  [
    'annotations',
    [delta({ content: 'hi' }), delta({ annotations: [citation] }), stop],
    [...text.slice(0, 3), 'output_text.annotation.added', ...text.slice(3), 'completed'],
  ],
  [
    'annotations before the text',
    [delta({ annotations: [citation] }), delta({ content: 'hi' }), stop],
    [...text.slice(0, 3), 'output_text.annotation.added', ...text.slice(3), 'completed'],
  ],
  ['length', [delta({ content: 'a' }), delta({}, 'length')], [...text, 'incomplete']],
  ['content_filter', [delta({ content: 'a' }), delta({}, 'content_filter')], [...text, 'incomplete']],
];

describe('a converted Responses stream', () => {
  it.each(sequences)('%s', (_name, chunks, expected, request = {}) => {
    expect(steps(chunks, request)).toEqual(expected);
  });

  it('carries all fields of every event', () => {
    const chunks = [
      delta({ reasoning_content: 'h' }),
      delta({ content: 'a' }),
      call(0, 'a', 'f', '{}'),
      delta({}, 'tool_calls'),
      usageChunk(3, 4),
    ];
    const at = { item_id: 'msg_3', output_index: 1, content_index: 0 };
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    const done = {
      type: 'message',
      id: 'msg_3',
      status: 'completed',
      role: 'assistant',
      content: [{ ...part, text: 'a' }],
    };
    const { events } = read(chunks);
    expect(events.slice(7, 13)).toEqual([
      {
        type: 'response.output_item.done',
        sequence_number: 7,
        output_index: 0,
        item: {
          type: 'reasoning',
          id: 'rs_1',
          status: 'completed',
          summary: [],
          content: [{ type: 'reasoning_text', text: 'h' }],
        },
      },
      {
        type: 'response.output_item.added',
        sequence_number: 8,
        output_index: 1,
        item: { ...done, status: 'in_progress', content: [] },
      },
      { type: 'response.content_part.added', sequence_number: 9, ...at, part },
      { type: 'response.output_text.delta', sequence_number: 10, ...at, delta: 'a', logprobs: [] },
      { type: 'response.output_text.done', sequence_number: 11, ...at, text: 'a', logprobs: [] },
      { type: 'response.content_part.done', sequence_number: 12, ...at, part: { ...part, text: 'a' } },
    ]);
    const whole = {
      type: 'function_call',
      id: 'fc_4',
      call_id: 'a',
      name: 'f',
      arguments: '{}',
      status: 'completed',
    };
    expect(events.slice(13, 18)).toEqual([
      { type: 'response.output_item.done', sequence_number: 13, output_index: 1, item: done },
      {
        type: 'response.output_item.added',
        sequence_number: 14,
        output_index: 2,
        item: { ...whole, arguments: '', status: 'in_progress' },
      },
      {
        type: 'response.function_call_arguments.delta',
        sequence_number: 15,
        item_id: 'fc_4',
        output_index: 2,
        delta: '{}',
      },
      {
        type: 'response.function_call_arguments.done',
        sequence_number: 16,
        item_id: 'fc_4',
        output_index: 2,
        name: 'f',
        arguments: '{}',
      },
      { type: 'response.output_item.done', sequence_number: 17, output_index: 2, item: whole },
    ]);
  });

  it('closes a complete call when the next item begins, so that clients can start it', () => {
    const chunks = [call(0, 'a', 'f', '{}'), call(1, 'b', 'f', '{}'), stop];
    expect(steps(chunks)).toEqual([...fn, ...fn, 'completed']);
  });

  it('gives log probabilities where they were asked for', () => {
    const logprobs = { content: [{ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }] };
    const chunk = { choices: [{ index: 0, delta: { content: 'a' }, logprobs }] };
    const told = [{ token: 'a', logprob: -1, bytes: [], top_logprobs: [] }];
    const { events, response } = read([chunk, stop], { top_logprobs: 1 });
    expect(events.find((event) => event['type'] === 'response.output_text.delta')).toMatchObject({
      logprobs: told,
    });
    expect(response['output']).toMatchObject([{ content: [{ logprobs: told }] }]);
    expect(JSON.stringify(read([chunk, stop]).events)).not.toContain('"token"');
  });

  it('cut by the limit: the last item is incomplete, and every call that breaks off', () => {
    const chunks = [
      call(0, 'a', 'f', '{"x":'),
      call(1, 'b', 'f', '{}'),
      call(2, 'c', 'f', '{"y"'),
      delta({}, 'length'),
    ];
    const { response } = read(chunks);
    expect(response['output']).toMatchObject([
      { status: 'incomplete' },
      { status: 'completed' },
      { status: 'incomplete' },
    ]);
  });
});

describe('what is held back', () => {
  const { state } = convert({ model: 'm', input: 'hi', stream: true });
  const bytes = (...chunks: readonly unknown[]) => chatSse(chunks, { done: false });

  it('gives nothing before the first content', () => {
    const stream = createResponsesStream(state);
    expect(stream.push(bytes(delta({ role: 'assistant', content: '' })))).toEqual([]);
    expect(stream.push(Buffer.from(': waiting\n\n'))).toEqual([]);
    expect(stream.push(bytes(usageChunk(1, 1)))).toEqual([]);
    expect([stream.hasContent, stream.opened]).toEqual([false, undefined]);
    const first = stream.push(bytes(delta({ content: 'a' })));
    expect(first.map((event) => /^event: (\S+)/.exec(event)?.[1])).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
    ]);
    expect(stream.hasContent).toBe(true);
  });

  it('a fault before the first content gives nothing at all', () => {
    const stream = createResponsesStream(state);
    expect(stream.push(bytes({ error: { message: 'no' } }))).toEqual([]);
    expect(stream.fault?.message).toBe('no');
    expect(stream.hasContent).toBe(false);
    expect(stream.push(bytes(delta({ content: 'late' })))).toEqual([]);
    expect(stream.end()).toEqual([]);
  });

  it('another node goes on with id and numbers of a stream that a keep-alive opened', () => {
    const first = createResponsesStream(state);
    const out = [...first.keepAlive(), ...first.keepAlive()];
    expect(out.filter((event) => event === ': keepalive\n\n')).toHaveLength(2);
    expect(first.hasContent).toBe(false);
    first.end(new UpstreamFault('interrupted', 'gone'));
    expect(first.fault?.kind).toBe('interrupted');
    const again = convert({ model: 'm', input: 'hi', stream: true }).state;
    const second = createResponsesStream(again, first.opened);
    out.push(...second.push(chatSse([delta({ content: 'a' }), stop])), ...second.end());
    const { problems, response, events } = readResponsesStream(out.join(''));
    expect(problems).toEqual([]);
    expect(response['status']).toBe('completed');
    expect(events[0]).toMatchObject({ response: { id: response['id'] } });
  });

  it('nothing follows the end', () => {
    const stream = createResponsesStream(state);
    stream.push(chatSse([delta({ content: 'a' }), stop]));
    expect(stream.done).toBe(true);
    expect([stream.push(bytes(delta({ content: 'b' }))), stream.end(), stream.keepAlive()]).toEqual([
      [],
      [],
      [],
    ]);
    expect(stream.fail(new UpstreamFault('timeout', 'late'))).toEqual([]);
  });

  it('writes one event at a time, LF only, no id lines', () => {
    const stream = createResponsesStream(state);
    const out = [...stream.push(chatSse([delta({ content: 'a\r\nb' }), stop])), ...stream.end()];
    for (const event of out) expect(event).toMatch(/^(?:event: [\w.]+\ndata: [^\r\n]+|data: \[DONE\])\n\n$/);
  });

  it('counts what it cannot say', () => {
    const stream = createResponsesStream(state);
    const thinking_blocks = [{ type: 'thinking', thinking: 'x', signature: 's' }];
    stream.push(chatSse([delta({ thinking_blocks }), delta({ annotations: [citation] }), stop]));
    expect(stream.lost.toSorted()).toEqual(['annotations', 'signature']);
  });
});

describe('a stream that fails', () => {
  const faults: readonly [name: string, fault: UpstreamFault, error: Json][] = [
    [
      'reset',
      new UpstreamFault('interrupted', 'The connection broke.'),
      { type: 'server_error', code: 'upstream_error', message: 'The connection broke.', param: null },
    ],
    [
      'idle',
      new UpstreamFault('timeout', 'Too slow.'),
      { type: 'server_error', code: 'timeout', message: 'Too slow.', param: null },
    ],
    [
      'rate limit',
      new UpstreamFault('reported', 'Please try again in 3s', { status: 429 }),
      {
        type: 'rate_limit_error',
        code: 'rate_limit_exceeded',
        message: 'Please try again in 3s',
        param: null,
      },
    ],
    [
      'quota',
      new UpstreamFault('reported', 'No money', { status: 429, code: 'insufficient_quota' }),
      { type: 'rate_limit_error', code: 'insufficient_quota', message: 'No money', param: null },
    ],
    [
      'context',
      new UpstreamFault('reported', 'too long', { status: 400, code: 'context_length_exceeded' }),
      { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'too long', param: null },
    ],
  ];

  it.each(faults)('%s: error, then response.failed', (_name, fault, error) => {
    const bytes = chatSse([delta({ content: 'a' }), call(0, 'a', 'f', '{"x":')], { done: false });
    const { events, response, problems } = readResponsesStream(streamOf(bytes, {}, bytes.length, fault));
    expect(problems).toEqual([]);
    expect(events.at(-2)).toMatchObject({ type: 'error', error });
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: error['code'], message: error['message'] },
      usage: null,
      output: [
        { type: 'message', status: 'completed' },
        { type: 'function_call', status: 'incomplete', arguments: '{"x":' },
      ],
    });
    expect(events.filter((event) => event['type'] === 'response.output_item.done')).toHaveLength(1);
  });

  it.each<[string, Buffer]>([
    ['early end', chatSse([delta({ content: 'a' })], { done: false })],
    [
      'error in the middle',
      chatSse([delta({ content: 'a' }), { error: { message: 'no', code: 500 } }, stop]),
    ],
    ['finish_reason error', chatSse([delta({ content: 'a' }), delta({}, 'error')])],
    ['a chunk that is no JSON', chatSse([delta({ content: 'a' }), '{"choices":[', stop])],
    [
      'an event called error',
      Buffer.concat([
        chatSse([delta({ content: 'a' })], { done: false }),
        Buffer.from('event: error\ndata: {"message":"no"}\n\n'),
      ]),
    ],
    ['nothing at all', Buffer.from('')],
    ['only [DONE]', chatSse([])],
    ['only comments', Buffer.from(': x\n\n')],
    ['HTML', Buffer.from('<html><body>502</body></html>')],
  ])('%s never ends as a finished one', (_name, bytes) => {
    const { types, problems } = readResponsesStream(streamOf(bytes));
    expect(problems).toEqual([]);
    expect(types.slice(-2)).toEqual(['error', 'response.failed']);
  });
});

const recorded: readonly [name: string, chunks: readonly unknown[], request?: Json][] = [
  [
    'text with every script',
    ['é', '日本', '🎉', '\u2028', 'a\nb'].map((content) => delta({ content })).concat(stop, usageChunk(3, 4)),
  ],
  [
    'everything',
    [
      { id: '', model: '', created: 0, choices: [], prompt_filter_results: [] },
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'ü' }),
      delta({ content: 'sø' }),
      delta({ tool_calls: [callEntry(0, 'a', 'f', ''), callEntry(1, 'b', 'patch', '{"input":"')] }),
      call(0, undefined, undefined, '{"é":1}'),
      call(1, undefined, undefined, '日"}'),
      delta({}, 'tool_calls'),
      usageChunk(3, 4),
    ],
    patch,
  ],
  ['a failure', [delta({ content: 'ä' }), { error: { message: 'nö' } }]],
];

describe('chunking', () => {
  it.each(recorded)('%s: the same bytes, however the input is cut', (_name, chunks, request = {}) => {
    const whole = streamOf(chatSse(chunks), request);
    for (const eol of ['\n', '\r\n', '\r'])
      for (const size of [1, 2, 3, 7, 64, 1_000_000]) {
        const bytes = chatSse(chunks, { eol });
        expect(streamOf(bytes, request, size)).toBe(whole);
      }
  });

  it('a JSON body is told as a stream', () => {
    const message = {
      role: 'assistant',
      reasoning_content: 'h',
      content: 'a',
      tool_calls: [callEntry(0, 'x', 'f', '{}')],
    };
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
    const { problems, types } = readResponsesStream(streamOf(Buffer.from(body), {}, 5));
    expect(problems).toEqual([]);
    expect(types.at(-1)).toBe('response.completed');
  });
});

describe('bounds', () => {
  it('a node that never ends is cut off before it fills the memory', () => {
    const { state } = convert({ model: 'm', input: 'hi', stream: true });
    const output = new ResponsesOutput(state, () => {});
    const text = 'x'.repeat(4 * 1024 * 1024);
    const piece = { type: 'text', text, logprobs: [] } as const;
    for (let count = 0; count < 15; count++) output.take(piece);
    expect(() => output.take({ type: 'reasoning', text })).toThrow('too large');
  });
});

/** Milliseconds that these bytes take. */
function cost(bytes: Buffer, request: Json): number {
  const begin = computedMs();
  streamOf(bytes, request, 16_384);
  return computedMs() - begin;
}

/** Ten times the pieces may take ten times as long, with room for a busy machine; the square would be a hundred times. */
function isLinear(make: (pieces: number) => Buffer, request: Json = {}): boolean {
  const [few, many] = [make(3_000), make(30_000)];
  return [1, 2, 3].some(() => {
    const small = Math.min(cost(few, request), cost(few, request));
    return cost(many, request) < small * 10 * 3;
  });
}

describe('cost', () => {
  it('of tens of thousands of chunks is linear', () => {
    const texts = (count: number) =>
      chatSse([...Array.from({ length: count }, () => delta({ content: 'token ' })), stop]);
    expect(isLinear(texts)).toBe(true);
  });

  it.each<[string, string, Json]>([
    ['a function', 'f', {}],
    ['a custom tool', 'patch', patch],
  ])('of 1 MB of arguments of %s is linear', (_name, name, request) => {
    const size = 35;
    const pieces = (count: number) => {
      const json = JSON.stringify({ input: 'x'.repeat(count * size) });
      const parts = Array.from({ length: count + 1 }, (_, at) => json.slice(at * size, (at + 1) * size));
      return chatSse([
        call(0, 'a', name, ''),
        ...parts.map((part) => call(0, undefined, undefined, part)),
        stop,
      ]);
    };
    expect(isLinear(pieces, request)).toBe(true);
  });

  it('of thousands of items is linear', () => {
    const items = (count: number) =>
      chatSse([
        ...Array.from({ length: count / 3 }, (_, at) =>
          delta(at % 2 === 0 ? { content: 'a' } : { reasoning: 'b' }),
        ),
        stop,
      ]);
    expect(isLinear(items)).toBe(true);
  });
});
