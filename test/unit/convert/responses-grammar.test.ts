import { describe, expect, it } from 'vitest';
import { readResponsesStream } from '../../wire/grammar/responses.ts';
import { call, chatSse, delta } from './chat-chunks.ts';
import { type Json, streamOf } from './responses-fixtures.ts';

const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }];
const text = streamOf(
  chatSse([
    delta({ reasoning_content: 'hm' }),
    delta({ content: 'a' }),
    delta({ annotations }),
    delta({ refusal: 'no' }),
    call(0, 'a', 'f', '{"x":1'),
    call(1, 'b', 'p', '{"input":"i"}'),
    call(0, undefined, undefined, '}'),
    delta({}, 'tool_calls'),
  ]),
  { tools: [{ type: 'custom', name: 'p' }] },
);
const { events, problems } = readResponsesStream(text);

/** A stream of these events, numbered anew, so that the numbers alone do not betray the change. */
function write(changed: readonly Json[]): string {
  const written = changed.map((event, index) => {
    const data = JSON.stringify({ ...event, sequence_number: index });
    return `event: ${String(event['type'])}\ndata: ${data}\n\n`;
  });
  return `${written.join('')}data: [DONE]\n\n`;
}

function faults(changed: readonly Json[]): readonly string[] {
  return readResponsesStream(write(changed)).problems;
}

const indexes = events.map((_, index) => index);

describe('the grammar of Responses streams', () => {
  it('accepts a good stream', () => {
    expect(problems).toEqual([]);
    expect(faults(events)).toEqual([]);
    expect(events.length).toBeGreaterThan(25);
  });

  it.each(indexes)('misses event %i', (index) => {
    expect(faults(events.filter((_, at) => at !== index))).not.toEqual([]);
  });

  it.each(indexes)('sees event %i twice', (index) => {
    const twice = events.flatMap((event, at) => (at === index ? [event, event] : [event]));
    expect(faults(twice)).not.toEqual([]);
  });

  it.each(indexes.slice(1))('sees event %i before the one before it', (index) => {
    const swapped = [...events];
    const [first, second] = events.slice(index - 1, index + 1);
    if (first === undefined || second === undefined) throw new Error('no such event');
    swapped.splice(index - 1, 2, second, first);
    // Events of calls that are open side by side may come in any order, and sources before the text or behind it.
    const places = [first, second].map((event) => Number(event['output_index']));
    const apart = places[0] !== places[1] && places.every((place) => place >= 2);
    if (apart || second['type'] === 'response.output_text.annotation.added') return;
    expect(faults(swapped)).not.toEqual([]);
  });

  const deltas = indexes.filter((index) => /delta$/.test(String(events[index]?.['type'])));
  it.each(deltas)('sees another text in event %i', (index) => {
    const changed = events.map((event, at) => (at === index ? { ...event, delta: 'other' } : event));
    expect(faults(changed)).not.toEqual([]);
  });

  const inItems = indexes.filter((index) => events[index]?.['item_id'] !== undefined);
  it.each(inItems)('sees another item in event %i', (index) => {
    const change = (fields: Json) =>
      events.map((event, at) => (at === index ? { ...event, ...fields } : event));
    expect(faults(change({ item_id: 'msg_other' }))).not.toEqual([]);
    expect(faults(change({ output_index: 99 }))).not.toEqual([]);
  });

  it.each<[string, (whole: string) => string]>([
    ['CRLF', (whole) => whole.replaceAll('\n', '\r\n')],
    [
      'a name that is not the type',
      (whole) => whole.replace('event: response.completed', 'event: response.done'),
    ],
    ['no [DONE]', (whole) => whole.replace('data: [DONE]\n\n', '')],
    ['events behind [DONE]', (whole) => `${whole}: x\n\n`],
    ['a number left out', (whole) => whole.replace('"sequence_number":3}', '"sequence_number":4}')],
    ['usage left out', (whole) => whole.replace(/"usage":\{[^}]*\}[^}]*\}[^}]*\}/, '"usage":null')],
    ['another response', (whole) => whole.replace(/("id":"resp_)(\w+)(.*?"status":"completed")/, '$1x$3')],
  ])('sees %s', (_name, change) => {
    const changed = change(text);
    expect(changed).not.toBe(text);
    expect(readResponsesStream(changed).problems).not.toEqual([]);
  });
});
