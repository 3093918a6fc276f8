import { describe, expect, it } from 'vitest';
import { createMessagesStream } from '../../../src/convert/messages-stream.ts';
import { UpstreamFault } from '../../../src/convert/upstream-fault.ts';
import { type ReadMessage, readMessagesStream } from '../../wire/grammar/messages.ts';
import { call, callEntry, chatSse, delta, usageChunk } from './chat-chunks.ts';
import { countingIds, state, streamed, text, tool } from './messages-fixtures.ts';

function read(chunks: readonly unknown[], fields: object = {}): ReadMessage {
  return readMessagesStream(streamed(chatSse(chunks), state(fields)));
}

function broken(chunks: readonly unknown[], options: { done?: boolean } = {}): ReadMessage {
  return readMessagesStream(streamed(chatSse(chunks, options)), { mayBeCut: true });
}

function types(chunks: readonly unknown[]): string[] {
  return [...streamed(chatSse(chunks)).matchAll(/^event: (\w+)$/gm)].map((match) => match[1] ?? '');
}

const thinking = (value: string, signature = '') => ({ type: 'thinking', thinking: value, signature });

const stop = delta({}, 'stop');
const done = delta({}, 'tool_calls');

const contents: readonly [
  name: string,
  chunks: readonly unknown[],
  content: readonly object[],
  stopReason: string,
][] = [
  [
    'text',
    [delta({ role: 'assistant', content: '' }), delta({ content: 'Hel' }), delta({ content: 'lo' }), stop],
    [text('Hello')],
    'end_turn',
  ],
  ['text in the finish chunk', [delta({ content: 'a' }, 'stop')], [text('a')], 'end_turn'],
  [
    'content null and ""',
    [delta({ content: null }), delta({ content: '' }), delta({ content: 'a' }), stop],
    [text('a')],
    'end_turn',
  ],
  ['nothing', [stop], [], 'end_turn'],
  ['white space alone', [delta({ content: '\n' }), delta({ content: ' ' }), stop], [], 'end_turn'],
  [
    'leading white space before text',
    [delta({ content: '\n\n' }), delta({ content: 'a ' }), delta({ content: ' ' }), stop],
    [text('\n\na  ')],
    'end_turn',
  ],
  [
    'leading white space before a tool',
    [delta({ content: '\n\n' }), call(0, 'a', 'f', '{}'), done],
    [tool('a', 'f')],
    'tool_use',
  ],
  [
    'thinking then text',
    [delta({ reasoning_content: 'hm' }), delta({ reasoning_content: 'm' }), delta({ content: 'a' }), stop],
    [thinking('hmm'), text('a')],
    'end_turn',
  ],
  ['reasoning ""', [delta({ reasoning_content: '', content: 'a' }), stop], [text('a')], 'end_turn'],
  [
    'thinking between texts',
    [delta({ content: 'a' }), delta({ reasoning: 'hm' }), delta({ content: 'b' }), stop],
    [text('a'), thinking('hm'), text('b')],
    'end_turn',
  ],
  [
    'two signed thoughts',
    [
      delta({ thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 's1' }] }),
      delta({ thinking_blocks: [{ type: 'thinking', thinking: 'y', signature: 's2' }] }),
      stop,
    ],
    [thinking('x', 's1'), thinking('y', 's2')],
    'end_turn',
  ],
  [
    'tool in pieces',
    [
      call(0, 'a', 'f', ''),
      call(0, undefined, undefined, '{"x"'),
      call(0, undefined, undefined, ':1}'),
      done,
    ],
    [tool('a', 'f', { x: 1 })],
    'tool_use',
  ],
  ['tool without arguments', [call(0, 'a', 'f'), done], [tool('a', 'f')], 'tool_use'],
  ['tool with arguments ""', [call(0, 'a', 'f', ''), done], [tool('a', 'f')], 'tool_use'],
  ['tool with arguments null', [call(0, 'a', 'f', 'null'), done], [tool('a', 'f')], 'tool_use'],
  [
    'arguments that are a string',
    [call(0, 'a', 'f', '"x'), call(0, undefined, undefined, 'y"'), done],
    [tool('a', 'f', { _raw: '"xy"' })],
    'tool_use',
  ],
  [
    'arguments that are prose',
    [call(0, 'a', 'f', 'do it'), done],
    [tool('a', 'f', { _raw: 'do it' })],
    'tool_use',
  ],
  [
    'id that Anthropic refuses',
    [call(0, 'functions.f:0', 'f', '{}'), done],
    [tool('functions_f_0', 'f')],
    'tool_use',
  ],
  ['no id', [call(0, '', 'f', '{}'), done], [tool('toolu_1', 'f')], 'tool_use'],
  [
    'the same id twice',
    [call(0, 'a', 'f', '{}'), call(1, 'a', 'g', '{}'), done],
    [tool('a', 'f'), tool('toolu_1', 'g')],
    'tool_use',
  ],
  [
    'interleaved tools',
    [
      call(0, 'a', 'f', '{"x"'),
      call(1, 'b', 'g', '{"y"'),
      call(0, undefined, undefined, ':1}'),
      call(1, undefined, undefined, ':2}'),
      done,
    ],
    [tool('a', 'f', { x: 1 }), tool('b', 'g', { y: 2 })],
    'tool_use',
  ],
  [
    'three tools, the second waits for the first',
    [
      call(0, 'a', 'f', '{'),
      call(1, 'b', 'g', '{}'),
      call(2, 'c', 'h', '{'),
      call(0, undefined, undefined, '}'),
      call(2, undefined, undefined, '}'),
      done,
    ],
    [tool('a', 'f'), tool('b', 'g'), tool('c', 'h')],
    'tool_use',
  ],
  [
    'no-argument tools in parallel',
    [call(0, 'a', 'f'), call(1, 'b', 'g'), call(2, 'c', 'h'), done],
    [tool('a', 'f'), tool('b', 'g'), tool('c', 'h')],
    'tool_use',
  ],
  [
    'text while a tool is open',
    [
      call(0, 'a', 'f', '{"x"'),
      delta({ content: 'wait' }),
      call(0, undefined, undefined, ':1}'),
      delta({ content: ' on' }),
      done,
    ],
    [tool('a', 'f', { x: 1 }), text('wait on')],
    'tool_use',
  ],
  [
    'name on a later chunk',
    [call(0, 'a', undefined, '{"x"'), delta({ content: 'first' }), call(0, undefined, 'f', ':1}'), done],
    [text('first'), tool('a', 'f', { x: 1 })],
    'tool_use',
  ],
  [
    'refusal',
    [delta({ refusal: 'I ' }), delta({ refusal: 'will not' }), stop],
    [text('I will not')],
    'refusal',
  ],
  ['content filter', [delta({ content: 'a' }), delta({}, 'content_filter')], [text('a')], 'refusal'],
  ['length', [delta({ content: 'a' }), delta({}, 'length')], [text('a')], 'max_tokens'],
  ['length within a tool', [call(0, 'a', 'f', '{"x'), delta({}, 'length')], [tool('a', 'f')], 'max_tokens'],
  [
    'length within prose arguments',
    [call(0, 'a', 'f', 'nul'), delta({}, 'length')],
    [tool('a', 'f')],
    'max_tokens',
  ],
  ['tool_calls without a tool', [delta({ content: 'a' }), done], [text('a')], 'end_turn'],
  ['no finish_reason, text', [delta({ content: 'a' })], [text('a')], 'end_turn'],
  ['no finish_reason, tool', [call(0, 'a', 'f', '{}')], [tool('a', 'f')], 'tool_use'],
  ['a word nobody knows', [delta({ content: 'a' }, 'eos')], [text('a')], 'end_turn'],
  ['multi-byte text', [delta({ content: 'grüße 🎉' }), stop], [text('grüße 🎉')], 'end_turn'],
];

describe('messages stream', () => {
  it.each(contents)('%s', (_, chunks, content, stopReason) => {
    const message = read(chunks);
    expect(message.content).toEqual(content);
    expect(message.stopReason).toBe(stopReason);
  });

  it.each(contents)('is byte-identical however it is cut: %s', (_, chunks) => {
    const whole = streamed(chatSse(chunks));
    for (const eol of ['\n', '\r\n', '\r']) {
      expect(streamed(chatSse(chunks, { eol }), state(), 1)).toBe(whole);
      expect(streamed(chatSse(chunks, { eol }), state(), 7)).toBe(whole);
      expect(streamed(chatSse(chunks, { eol }))).toBe(whole);
    }
  });

  it.each(contents)('is byte-identical without [DONE] where a finish_reason was seen: %s', (_, chunks) => {
    if (!JSON.stringify(chunks).match(/"finish_reason":"/)) return;
    expect(streamed(chatSse(chunks, { done: false }))).toBe(streamed(chatSse(chunks)));
  });

  it('says who answers in the name that the caller used, and all tokens at the end', () => {
    const details = {
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 2 },
    };
    const message = read([delta({ content: 'a' }), stop, usageChunk(10, 5, details)]);
    expect(message.model).toBe('claude-x');
    expect(message.usage).toEqual({
      input_tokens: 5,
      cache_read_input_tokens: 4,
      cache_creation_input_tokens: 1,
      output_tokens: 5,
      output_tokens_details: { thinking_tokens: 2 },
      server_tool_use: null,
      iterations: null,
      fallback_credit: null,
    });
  });

  it('names the stop sequence that vLLM tells, if it was asked for', () => {
    const chunk = {
      choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop', stop_reason: 'END' }],
    };
    const message = read([chunk], { stop_sequences: ['END'] });
    expect([message.stopReason, message.stopSequence]).toEqual(['stop_sequence', 'END']);
    expect(read([chunk]).stopReason).toBe('end_turn');
  });

  it('restores names that had to change', () => {
    const name = 'a.very/long name '.repeat(8);
    const of = state({ tools: [{ name, input_schema: { type: 'object' } }] });
    const chatName = of.names.chatName({ name });
    const message = readMessagesStream(streamed(chatSse([call(0, 'a', chatName, '{}'), done]), of));
    expect(message.content[0]?.['name']).toBe(name);
  });

  it('6.1 keeps the argument deltas of a streamed tool_use', () => {
    const chunks = [
      call(0, 'a', 'f', ''),
      ...['{"ci', 'ty":', '"Paris"}'].map((piece) => call(0, undefined, undefined, piece)),
      done,
    ];
    expect(read(chunks).content).toEqual([tool('a', 'f', { city: 'Paris' })]);
    expect(types(chunks).filter((type) => type === 'content_block_delta')).toHaveLength(3);
  });

  it('6.2 stops with tool_use after a tool though the node says stop, and opens no empty text block', () => {
    const message = read([delta({ role: 'assistant', content: '' }), call(0, 'a', 'f', '{}'), stop]);
    expect(message.stopReason).toBe('tool_use');
    expect(message.content).toEqual([tool('a', 'f')]);
  });

  it('6.3 starts with the tool when the stream does', () => {
    expect(types([call(0, 'a', 'f', '{}'), done])).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('6.4 gives parallel tool calls a block each', () => {
    const entries = [callEntry(0, 'a', 'f', '{"x":1}'), callEntry(1, 'b', 'f', '{"x":2}')];
    expect(read([delta({ tool_calls: entries }), done]).content).toEqual([
      tool('a', 'f', { x: 1 }),
      tool('b', 'f', { x: 2 }),
    ]);
  });

  it('6.5 stops with tool_use after text and tools', () => {
    const message = read([
      delta({ content: 'let me see' }),
      call(0, 'a', 'f', '{}'),
      call(1, 'b', 'g', '{}'),
      stop,
    ]);
    expect(message.stopReason).toBe('tool_use');
    expect(message.content.map((block) => block['type'])).toEqual(['text', 'tool_use', 'tool_use']);
  });

  it('6.6 closes the text block before it opens the tool block', () => {
    expect(types([delta({ content: 'a' }), call(0, 'a', 'f', '{}'), done]).slice(1, 5)).toEqual([
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
    ]);
  });

  it('6.7 makes a thinking block of reasoning_content alone', () => {
    expect(read([delta({ reasoning_content: 'hm' }), stop]).content).toEqual([thinking('hm')]);
  });

  it('6.8 forwards the signature and gives reasoning once', () => {
    const both = {
      reasoning_content: 'hm',
      thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: '' }],
    };
    const sign = { thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'sig' }] };
    expect(read([delta(both), delta(sign), delta({ content: 'a' }), stop]).content).toEqual([
      thinking('hm', 'sig'),
      text('a'),
    ]);
  });

  it('6.14 keeps cached tokens', () => {
    const message = read([
      delta({ content: 'a' }),
      stop,
      usageChunk(100, 1, { prompt_tokens_details: { cached_tokens: 80 } }),
    ]);
    expect(message.usage).toMatchObject({ cache_read_input_tokens: 80 });
  });

  it('6.16 joins name and arguments that come on different indices', () => {
    expect(read([call(0, 'a', 'f'), call(1, undefined, undefined, '{"x":1}'), done]).content).toEqual([
      tool('a', 'f', { x: 1 }),
    ]);
  });

  it('6.18 keeps parallel calls that all come on index 0 apart', () => {
    const chunks = [call(0, 'a', 'f', '{"x":1}'), call(0, 'b', 'f', '{"x":2}'), done];
    expect(read(chunks).content).toEqual([tool('a', 'f', { x: 1 }), tool('b', 'f', { x: 2 })]);
  });

  it('6.19 takes no notice of name "" on later chunks', () => {
    expect(read([call(0, 'a', 'f', '{"x"'), call(0, '', '', ':1}'), done]).content).toEqual([
      tool('a', 'f', { x: 1 }),
    ]);
  });

  it('6.20 makes {} of no arguments', () => {
    expect(read([call(0, 'a', 'f', ''), done]).content).toEqual([tool('a', 'f')]);
  });

  it('6.30 takes the cached part out of input_tokens', () => {
    const usage = { prompt_tokens_details: { cached_tokens: 80 } };
    expect(read([delta({ content: 'a' }), stop, usageChunk(100, 1, usage)]).usage).toMatchObject({
      input_tokens: 20,
    });
  });

  it('6.38 gives ids that begin with msg_', () => {
    expect(read([stop]).id).toMatch(/^msg_/);
  });

  it('6.40 reads usage on the finish chunk', () => {
    const message = read([
      delta({ content: 'a' }),
      delta({}, 'stop', { usage: { prompt_tokens: 7, completion_tokens: 3 } }),
    ]);
    expect(message.usage).toMatchObject({ input_tokens: 7, output_tokens: 3 });
  });

  it('6.41 goes on after usage, the last one counts', () => {
    const usage = (completion: number) => ({ usage: { prompt_tokens: 7, completion_tokens: completion } });
    const message = read([
      delta({ content: 'a' }, null, usage(1)),
      delta({ content: 'b' }, null, usage(2)),
      delta({}, 'stop', usage(3)),
    ]);
    expect(message.content).toEqual([text('ab')]);
    expect(message.usage).toMatchObject({ output_tokens: 3 });
  });

  it('6.42 recognises a usage chunk with choices', () => {
    const message = read([
      delta({ content: 'a' }),
      stop,
      delta({}, null, { usage: { prompt_tokens: 7, completion_tokens: 3 } }),
    ]);
    expect(message.usage).toMatchObject({ input_tokens: 7, output_tokens: 3 });
  });

  it('6.44 always has usage in message_delta', () => {
    expect(read([delta({ content: 'a' }), stop]).usage).toMatchObject({ input_tokens: 0, output_tokens: 0 });
  });

  it('6.45 never reports a broken stream as a finished turn', () => {
    for (const chunks of [[delta({ content: 'a' })], [delta({ content: 'a' }), call(0, 'a', 'f', '{"x"')]]) {
      const message = broken(chunks, { done: false });
      expect(message.error?.['type']).toBe('api_error');
      expect(message.stopReason).toBeNull();
    }
  });

  it('6.46 ends with an error event after the death of the node', () => {
    const out = streamed(
      chatSse([delta({ content: 'a' })], { done: false }),
      state(),
      9,
      new UpstreamFault('interrupted', 'The connection to the model server broke.'),
    );
    const message = readMessagesStream(out, { mayBeCut: true });
    expect(message.error).toEqual({
      type: 'api_error',
      message: 'The connection to the model server broke.',
    });
    expect(out).not.toContain('message_stop');
  });

  it('6.50 writes no id: and no retry: line', () => {
    const out = streamed(chatSse([delta({ content: 'a' }), stop]));
    expect(out).not.toMatch(/^(?:id|retry)/m);
  });

  it('drops white space before a tool for good', () => {
    const chunks = [delta({ content: '\n\n' }), call(0, 'a', 'f', '{}'), delta({ content: 'b' }), done];
    expect(read(chunks).content).toEqual([tool('a', 'f'), text('b')]);
  });

  it('bounds what waits for an open tool and the white space that waits for text', () => {
    const much = delta({ content: 'x'.repeat(1024 * 1024) });
    const message = broken([call(0, 'a', 'f', '{'), ...Array.from({ length: 5 }, () => much)]);
    expect(message.error?.['message']).toMatch(/too much text/);
    const space = delta({ content: ' '.repeat(1024 * 1024) });
    expect(broken(Array.from({ length: 5 }, () => space)).error?.['message']).toMatch(/too much text/);
  });

  it('6.47 keeps characters whole that are cut between chunks', () => {
    const out = streamed(chatSse([delta({ content: '日本語 é 🎉' }), stop]), state(), 1);
    expect(readMessagesStream(out).content).toEqual([text('日本語 é 🎉')]);
  });

  it('6.51 makes the full event sequence of a JSON answer', () => {
    const reply = {
      choices: [{ message: { content: 'a', reasoning: 'hm' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 2, completion_tokens: 1 },
    };
    const message = readMessagesStream(streamed(Buffer.from(JSON.stringify(reply)), state(), 5));
    expect(message.content).toEqual([thinking('hm'), text('a')]);
    expect(message.usage).toMatchObject({ input_tokens: 2 });
  });

  it('6.54 gives nothing but a fault for a stream of comments or [DONE] alone', () => {
    for (const bytes of [Buffer.from(': a\n\n: b\n\n'), chatSse([])]) {
      const stream = createMessagesStream(state());
      expect([...stream.push(bytes), ...stream.end()]).toEqual([]);
      expect(stream.fault).toMatchObject({ kind: 'empty', status: 502 });
      expect(stream.hasContent).toBe(false);
    }
  });

  it('6.60 does not stop at the finish_reason of another choice', () => {
    const other = { choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] };
    expect(read([delta({ content: 'a' }), other, delta({ content: 'b' }), stop]).content).toEqual([
      text('ab'),
    ]);
  });

  it.each([
    ['error first', [{ error: { message: 'busy', code: 429 } }], 'rate_limit_error'],
    [
      'error in the middle',
      [delta({ content: 'a' }), { error: { message: 'busy', type: 'overloaded_error' } }],
      'overloaded_error',
    ],
    ['error without details', [delta({ content: 'a' }), { error: {} }], 'api_error'],
    ['finish_reason error', [delta({ content: 'a' }), delta({}, 'error')], 'api_error'],
    ['no JSON', [delta({ content: 'a' }), '{"choices":'], 'api_error'],
    [
      'context overflow',
      [{ error: { message: 'too long', code: 'context_length_exceeded' } }],
      'invalid_request_error',
    ],
    [
      'arguments that go wrong half way',
      [call(0, 'a', 'f', '{"x":1'), call(0, undefined, undefined, ' oops'), done],
      'api_error',
    ],
    ['arguments that just stop', [call(0, 'a', 'f', '{"x":1'), done], 'api_error'],
    [
      'arguments that just stop before another tool',
      [call(0, 'a', 'f', '{"x":1'), call(1, 'b', 'g', '{}'), done],
      'api_error',
    ],
    ['a call that never gets a name', [call(0, 'a', undefined, '{}'), done], 'api_error'],
  ])('fails: %s', (_, chunks, type) => {
    const message = broken(chunks);
    expect(message.error?.['type']).toBe(type);
  });

  it('holds message_start back until the first content', () => {
    const stream = createMessagesStream(state());
    expect(
      stream.push(
        chatSse([delta({ role: 'assistant', content: '' }), delta({ content: ' ' })], { done: false }),
      ),
    ).toEqual([]);
    expect([stream.hasContent, stream.opened]).toEqual([false, undefined]);
    expect(stream.push(chatSse([delta({ content: 'a' })], { done: false }))).toHaveLength(3);
    expect([stream.hasContent, stream.opened]).toEqual([true, { id: 'msg_1' }]);
  });

  it('opens for a keep-alive, and the next node goes on with the same message', () => {
    const newId = countingIds();
    const first = createMessagesStream({ ...state(), newId });
    const out = [...first.keepAlive(), ...first.keepAlive()];
    first.push(chatSse([{ error: { message: 'no' } }]));
    expect([first.hasContent, first.fault?.kind]).toEqual([false, 'reported']);
    const second = createMessagesStream({ ...state(), newId }, first.opened);
    out.push(...second.push(chatSse([delta({ content: 'a' }), stop])));
    const message = readMessagesStream(out.join(''));
    expect([message.pings, message.id, message.content]).toEqual([2, 'msg_1', [text('a')]]);
    expect(second.keepAlive()).toEqual([]);
  });

  it('says nothing after an error and nothing after the end', () => {
    const stream = createMessagesStream(state());
    stream.push(chatSse([delta({ content: 'a' }), { error: { message: 'no' } }], { done: false }));
    expect(stream.push(chatSse([delta({ content: 'b' })]))).toEqual([]);
    expect(stream.end()).toEqual([]);
    expect(stream.fail(new UpstreamFault('reported', 'no'))).toHaveLength(1);
    expect(stream.fail(new UpstreamFault('reported', 'no'))).toEqual([]);
    expect(stream.done).toBe(true);
  });

  it('counts what the format cannot say', () => {
    const stream = createMessagesStream(state());
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }];
    stream.push(chatSse([delta({ content: 'a', annotations }), stop]));
    expect(stream.lost).toEqual(['annotations']);
  });
});
