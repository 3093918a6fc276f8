import { describe, expect, it } from 'vitest';
import { readMessagesStream } from '../../wire/grammar/messages.ts';
import { call, chatSse, delta } from './chat-chunks.ts';
import { streamed } from './messages-fixtures.ts';

const good = streamed(
  chatSse([
    delta({ thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }] }),
    delta({ content: 'a' }),
    call(0, 'a', 'f', '{"x":1}'),
    call(1, 'b', 'f', '{}'),
    delta({}, 'tool_calls'),
  ]),
);
const events = good.split(/(?<=\n\n)/);

describe('the grammar of message streams', () => {
  it('accepts a good stream', () => {
    expect(readMessagesStream(good).content).toHaveLength(4);
    expect(
      readMessagesStream([events[0], 'event: ping\ndata: {"type":"ping"}\n\n', ...events.slice(1)].join(''))
        .pings,
    ).toBe(1);
  });

  it.each(events.map((event, index) => [index, event] as const))('misses event %i', (index, event) => {
    const without = events.filter((_, at) => at !== index).join('');
    if (/input_json|signature/.test(event)) return;
    expect(() => readMessagesStream(without)).toThrow();
  });

  it.each(events.map((_, index) => index))('sees event %i twice', (index) => {
    if (/(?:text|thinking)_delta/.test(events[index] ?? '')) return;
    expect(() =>
      readMessagesStream(events.flatMap((event, at) => (at === index ? [event, event] : [event])).join('')),
    ).toThrow();
  });

  it.each(events.slice(1).map((_, index) => index))('sees event %i behind the next', (index) => {
    const swapped = [...events];
    [swapped[index], swapped[index + 1]] = [events[index + 1] ?? '', events[index] ?? ''];
    expect(() => readMessagesStream(swapped.join(''))).toThrow();
  });

  it.each([
    ['CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
    [
      'a name that is not the type',
      (text: string) => text.replace('event: message_stop', 'event: message_end'),
    ],
    ['an event without a name', (text: string) => text.replace('event: message_stop\n', '')],
    ['an id without its prefix', (text: string) => text.replace('msg_1', 'chatcmpl_1')],
    [
      'no usage at the end',
      (text: string) => text.replace(/"usage":\{[^}]*\}(.*\n\nevent: message_stop)/, '"usage":null$1'),
    ],
    [
      'end_turn after a tool',
      (text: string) => text.replace('"stop_reason":"tool_use"', '"stop_reason":"end_turn"'),
    ],
    ['an index left out', (text: string) => text.replaceAll('"index":3', '"index":4')],
    ['an index used twice', (text: string) => text.replaceAll('"index":1', '"index":0')],
    ['a tool id twice', (text: string) => text.replace('"id":"b"', '"id":"a"')],
    ['input that is no JSON', (text: string) => text.replace('{\\"x\\":1}', '{\\"x\\":1')],
    ['input that is two objects', (text: string) => text.replace('{\\"x\\":1}', '{}{}')],
    ['no end', (text: string) => text.slice(0, text.indexOf('event: message_stop'))],
    [
      'an error though none may be',
      (text: string) =>
        `${text.slice(0, text.indexOf('event: message_delta'))}event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"}}\n\n`,
    ],
  ])('refuses %s', (_, spoil) => {
    expect(spoil(good)).not.toBe(good);
    expect(() => readMessagesStream(spoil(good))).toThrow();
  });
});
