import { describe, expect, it } from 'vitest';
import type { ChatEvent } from '../../../src/convert/chat-event.ts';
import { ChatStream } from '../../../src/convert/chat-stream.ts';
import { UpstreamFault } from '../../../src/convert/upstream-fault.ts';
import { call, callEntry, chatSse, delta, usageChunk } from './chat-chunks.ts';

function read(bytes: Uint8Array, size = bytes.length, cut?: UpstreamFault): ChatEvent[] {
  const stream = new ChatStream();
  const events: ChatEvent[] = [];
  for (let at = 0; at < bytes.length; at += size) events.push(...stream.push(bytes.subarray(at, at + size)));
  return [...events, ...stream.end(cut)];
}

/** The calls of a stream with their arguments put together. */
function calls(chunks: readonly unknown[]): unknown[] {
  const found: { id: string; name: string; args: string }[] = [];
  for (const event of read(chatSse([...chunks, delta({}, 'tool_calls')]))) {
    if (event.type === 'tool_start') found[event.call] = { id: event.id, name: event.name, args: '' };
    if (event.type === 'tool_arguments') {
      const target = found[event.call];
      if (target === undefined || event.text === '') throw new Error('arguments before their call, or none');
      target.args += event.text;
    }
    if (event.type === 'fault') return [event.fault.kind];
  }
  return found.filter((entry) => entry !== undefined);
}

function end(events: readonly ChatEvent[]) {
  const last = events.at(-1);
  return last?.type === 'end' ? last : undefined;
}

function faultOf(events: readonly ChatEvent[]): UpstreamFault | undefined {
  const last = events.at(-1);
  return last?.type === 'fault' ? last.fault : undefined;
}

const a = { id: 'a', name: 'f', args: '{"x":1}' };
const b = { id: 'b', name: 'g', args: '{"y":2}' };

const toolCases: readonly [name: string, chunks: readonly unknown[], calls: readonly unknown[]][] = [
  [
    'pieces keyed by index',
    [
      call(0, 'a', 'f', ''),
      call(0, undefined, undefined, '{"x":'),
      call(0, undefined, undefined, '1}'),
      call(1, 'b', 'g', '{"y":2}'),
    ],
    [a, b],
  ],
  [
    'interleaved indexes',
    [
      call(0, 'a', 'f', '{"x"'),
      call(1, 'b', 'g', '{"y"'),
      call(0, undefined, undefined, ':1}'),
      call(1, undefined, undefined, ':2}'),
    ],
    [a, b],
  ],
  [
    'whole calls in one chunk',
    [delta({ tool_calls: [callEntry(0, 'a', 'f', '{"x":1}'), callEntry(1, 'b', 'g', '{"y":2}')] })],
    [a, b],
  ],
  ['no index, same id', [call(undefined, 'a', 'f', '{"x"'), call(undefined, 'a', undefined, ':1}')], [a]],
  [
    'no index, no id: the last call',
    [call(undefined, 'a', 'f', '{"x"'), call(undefined, undefined, undefined, ':1}')],
    [a],
  ],
  [
    'no index, unknown id without a name: the last call',
    [call(undefined, 'a', 'f', '{"x"'), call(undefined, 'zz', undefined, ':1}')],
    [a],
  ],
  [
    'no index, another id with a name',
    [call(undefined, 'a', 'f', '{"x":1}'), call(undefined, 'b', 'g', '{"y":2}')],
    [a, b],
  ],
  ['later id "" changes nothing', [call(0, 'a', 'f', '{"x"'), call(0, '', undefined, ':1}')], [a]],
  [
    'later id changes nothing without a name',
    [call(0, 'a', 'f', '{"x"'), call(0, 'other', undefined, ':1}')],
    [a],
  ],
  ['name on a later chunk', [call(0, 'a', undefined, '{"x"'), call(0, undefined, 'f', ':1}')], [a]],
  [
    'names of two calls on later chunks',
    [
      call(0, 'a', undefined, '{"x"'),
      call(1, 'b', undefined, '{"y"'),
      call(1, undefined, 'g', ':2}'),
      call(0, undefined, 'f', ':1}'),
    ],
    [a, b],
  ],
  [
    'all on index 0 in one chunk',
    [delta({ tool_calls: [callEntry(0, 'a', 'f', '{"x":1}'), callEntry(0, 'b', 'g', '{"y":2}')] })],
    [a, b],
  ],
  [
    'all on index 0 and no ids',
    [call(0, '', 'f', '{"x":1}'), call(0, '', 'g', '{"y":2}')],
    [
      { ...a, id: '' },
      { ...b, id: '' },
    ],
  ],
  [
    'the same tool twice on index 0 without ids',
    [call(0, '', 'f', '{"x":1}'), call(0, '', 'f', '{"x":1}')],
    [
      { ...a, id: '' },
      { ...a, id: '' },
    ],
  ],
  [
    'two calls without arguments and ids',
    [delta({ tool_calls: [callEntry(0, '', 'f', ''), callEntry(0, '', 'g', '')] })],
    [
      { id: '', name: 'f', args: '' },
      { id: '', name: 'g', args: '' },
    ],
  ],
  [
    'the call repeated whole in the last chunk',
    [call(0, 'a', 'f', '{"x"'), call(0, undefined, undefined, ':1}'), call(0, 'a', 'f', '{"x":1}')],
    [a],
  ],
  ['no arguments at all', [call(0, 'a', 'f')], [{ ...a, args: '' }]],
  [
    'content "" between pieces',
    [call(0, 'a', 'f', '{"x"'), delta({ content: '' }), call(0, undefined, undefined, ':1}')],
    [a],
  ],
  [
    'arguments as an object',
    [delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } }] })],
    [a],
  ],
  [
    'legacy function_call',
    [
      delta({ function_call: { name: 'f', arguments: '{"x"' } }),
      delta({ function_call: { arguments: ':1}' } }),
    ],
    [{ ...a, id: '' }],
  ],
  [
    'custom call',
    [
      delta({ tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: 'say "' } }] }),
      delta({ tool_calls: [{ index: 0, custom: { input: 'hi"\n' } }] }),
    ],
    [{ id: 'a', name: 'f', args: '{"input":"say \\"hi\\"\\n"}' }],
  ],
  ['arguments without any name', [call(0, 'a', undefined, '{}')], ['malformed']],
  [
    'entries that say nothing',
    [delta({ tool_calls: [{ index: 0, function: {} }, null, 3] }), delta({ tool_calls: 'x' })],
    [],
  ],
];

describe('ChatStream', () => {
  it.each(toolCases)('tool calls: %s', (_, chunks, expected) => {
    expect(calls(chunks)).toEqual(expected);
  });

  it('6.16 gives arguments on another index to the call that has the name', () => {
    expect(calls([call(0, 'a', 'f'), call(1, undefined, undefined, '{"x":1}')])).toEqual([a]);
    expect(calls([call(0, 'a', 'f', ''), call(1, 'a', undefined, '{"x":1}')])).toEqual([a]);
  });

  it('6.18 keeps parallel calls on index 0 apart', () => {
    const chunks = [
      call(0, 'a', 'f', '{"x":1}'),
      call(0, 'b', 'g', '{"y"'),
      call(0, undefined, undefined, ':2}'),
    ];
    expect(calls(chunks)).toEqual([a, b]);
  });

  it('6.18 follows the id where the index is the same for all', () => {
    const begun = [call(0, 'a', 'f', '{"x"'), call(0, 'b', 'g', '{"y"')];
    expect(calls([...begun, call(0, 'a', undefined, ':1}'), call(0, 'b', undefined, ':2}')])).toEqual([a, b]);
  });

  it('6.8 stays with the first source of reasoning', () => {
    const again = { reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] };
    const events = read(chatSse([delta({ reasoning_content: 'hm' }), delta(again), delta({}, 'stop')]));
    expect(events.map((event) => event.type)).toEqual(['reasoning', 'kept', 'end']);
  });

  it('reads a whole message in a chunk, but not as a repetition of deltas', () => {
    const whole = { choices: [{ index: 0, message: { content: 'ab' }, finish_reason: 'stop' }] };
    expect(read(chatSse([whole])).map((event) => event.type)).toEqual(['text', 'end']);
    expect(read(chatSse([delta({ content: 'ab' }), whole])).map((event) => event.type)).toEqual([
      'text',
      'end',
    ]);
  });

  it('6.19 is not confused by name "" on later chunks', () => {
    expect(calls([call(0, 'a', 'f', '{"x"'), call(0, 'a', '', ':1}')])).toEqual([a]);
  });

  it('6.7 reads chunks that hold only reasoning_content', () => {
    const events = read(chatSse([delta({ reasoning_content: 'hm' }), delta({ content: 'a' }, 'stop')]));
    expect(events[0]).toEqual({ type: 'reasoning', text: 'hm' });
  });

  it('6.8 reads reasoning sent twice once, and its signature', () => {
    const both = { reasoning_content: 'hm', thinking_blocks: [{ type: 'thinking', thinking: 'hm' }] };
    const sign = { thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'sig' }] };
    const events = read(chatSse([delta(both), delta(sign), delta({ content: 'a' }, 'stop')]));
    expect(events.slice(0, 2)).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'signature', signature: 'sig' },
    ]);
  });

  it.each([
    ['reasoning_content', { reasoning_content: 'hm' }],
    ['reasoning', { reasoning: 'hm' }],
    ['thinking_blocks', { thinking_blocks: [{ type: 'thinking', thinking: 'hm' }] }],
    ['reasoning_details', { reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }],
    ['reasoning_details summary', { reasoning_details: [{ type: 'reasoning.summary', summary: 'hm' }] }],
    ['content parts', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }],
    ['the first of two', { reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }],
    ['the first that is not empty', { reasoning_content: '', reasoning: 'hm' }],
  ])('reasoning in %s', (_, fields) => {
    const events = read(chatSse([delta(fields), delta({}, 'stop')]));
    const said = events.filter(({ type }) => type !== 'end' && type !== 'kept');
    expect(said).toEqual([{ type: 'reasoning', text: 'hm' }]);
  });

  it.each([
    [
      'on the finish chunk (6.40)',
      [delta({ content: 'a' }, 'stop', { usage: { prompt_tokens: 3, completion_tokens: 2 } })],
    ],
    ['on a chunk of its own', [delta({ content: 'a' }, 'stop'), usageChunk(3, 2)]],
    [
      'on every chunk, the last counts (6.41)',
      [
        delta({ content: 'a' }, null, { usage: { prompt_tokens: 3, completion_tokens: 1 } }),
        delta({ content: 'b' }, 'stop', { usage: { prompt_tokens: 3, completion_tokens: 2 } }),
      ],
    ],
    [
      'on a last chunk with choices (6.42)',
      [
        delta({ content: 'a' }, 'stop'),
        delta({}, null, { usage: { prompt_tokens: 3, completion_tokens: 2 } }),
      ],
    ],
    [
      'in x_groq',
      [delta({ content: 'a' }, 'stop', { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 2 } } })],
    ],
    [
      'in the choice',
      [
        {
          choices: [
            {
              delta: { content: 'a' },
              finish_reason: 'stop',
              usage: { prompt_tokens: 3, completion_tokens: 2 },
            },
          ],
        },
      ],
    ],
    [
      'null elsewhere',
      [delta({ content: 'a' }, null, { usage: null }), usageChunk(3, 2), delta({}, 'stop', { usage: null })],
    ],
  ])('usage %s', (_, chunks) => {
    expect(end(read(chatSse(chunks)))?.usage).toMatchObject({ prompt: 3, completion: 2 });
  });

  it('6.41 does not stop at the first usage', () => {
    const chunks = [
      delta({ content: 'a' }, null, { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
      delta({ content: 'b' }, 'stop'),
    ];
    expect(read(chatSse(chunks)).map((event) => event.type)).toEqual(['text', 'text', 'end']);
  });

  it('6.60 reads choice 0 alone and does not stop at the first finish_reason', () => {
    const other = { choices: [{ index: 1, delta: { content: 'X' }, finish_reason: 'stop' }] };
    const texts = read(chatSse([delta({ content: 'a' }), other, delta({ content: 'b' }, 'stop')]));
    expect(texts.map((event) => (event.type === 'text' ? event.text : event.type))).toEqual([
      'a',
      'b',
      'end',
    ]);
  });

  it.each([
    ['[DONE] without finish_reason', chatSse([delta({ content: 'a' })]), 'end'],
    ['finish_reason without [DONE]', chatSse([delta({ content: 'a' }, 'stop')], { done: false }), 'end'],
    ['neither', chatSse([delta({ content: 'a' })], { done: false }), 'truncated'],
    ['6.54 only comments', Buffer.from(': hi\n\n: hi\n\n'), 'empty'],
    ['6.54 only [DONE]', chatSse([]), 'empty'],
    ['nothing', Buffer.from(''), 'empty'],
    ['HTML', Buffer.from('<html><body>no</body></html>'), 'empty'],
    ['a chunk that is no JSON', chatSse([delta({ content: 'a' }), '{"choices":[']), 'malformed'],
    ['a chunk that is no object', chatSse(['3']), 'malformed'],
    ['an error first', chatSse([{ error: { message: 'no' } }]), 'reported'],
    [
      'an error in the middle though [DONE] follows',
      chatSse([delta({ content: 'a' }), { error: { message: 'no' } }]),
      'reported',
    ],
    ['finish_reason error', chatSse([delta({ content: 'a' }, 'error')]), 'reported'],
    [
      'finish_reason insufficient_system_resource',
      chatSse([delta({}, 'insufficient_system_resource')]),
      'reported',
    ],
    ['event: error', Buffer.from('event: error\ndata: {"message":"no"}\n\n'), 'reported'],
    [
      "Google's list",
      chatSse([[{ error: { code: 429, message: 'no', status: 'RESOURCE_EXHAUSTED' } }]]),
      'reported',
    ],
  ])('ends: %s', (_, bytes, expected) => {
    for (const size of [1, bytes.length || 1]) {
      const last = read(bytes, size).at(-1);
      expect(last?.type === 'fault' ? last.fault.kind : last?.type).toBe(expected);
    }
  });

  it('ends well when the connection breaks after finish_reason, and badly before', () => {
    const cut = new UpstreamFault('interrupted', 'reset');
    expect(end(read(chatSse([delta({ content: 'a' }, 'stop')], { done: false }), 7, cut))).toBeDefined();
    expect(faultOf(read(chatSse([delta({ content: 'a' })], { done: false }), 7, cut))).toBe(cut);
  });

  it('reads chunks of Azure that announce nothing', () => {
    const filter = { id: '', model: '', created: 0, object: '', choices: [], prompt_filter_results: [] };
    const chunks = [
      filter,
      delta({ role: 'assistant', content: '' }),
      delta({ content: null }),
      delta({ content: 'a' }),
      delta({}, 'stop'),
    ];
    expect(read(chatSse(chunks)).map((event) => event.type)).toEqual(['text', 'end']);
  });

  it('6.51 makes events of a JSON answer to stream: true', () => {
    const reply = {
      choices: [
        {
          message: { content: 'hi', tool_calls: [callEntry(0, 'a', 'f', '{"x":1}')] },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    };
    for (const size of [1, 1_000]) {
      const events = read(Buffer.from(` \n${JSON.stringify(reply)}`), size);
      expect(events.map((event) => event.type)).toEqual(['text', 'tool_start', 'tool_arguments', 'end']);
    }
    expect(faultOf(read(Buffer.from('{"error":{"message":"no"}}')))?.kind).toBe('reported');
    expect(faultOf(read(Buffer.from('{"choices":['), 3))?.kind).toBe('malformed');
  });

  it('says nothing after its end', () => {
    const stream = new ChatStream();
    stream.push(chatSse([delta({ content: 'a' }, 'stop')]));
    expect(stream.push(chatSse([delta({ content: 'b' })]))).toEqual([]);
    expect(stream.end()).toEqual([]);
  });
});
