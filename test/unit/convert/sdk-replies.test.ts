import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isObject } from '../../../src/convert/json.ts';
import { faultsOf } from '../../support/sdk-types/conforms.ts';
import { fieldRequests, mark, type RequestFrame } from '../../support/sdk-types/field-requests.ts';
import {
  type ConvertedAnswer,
  plainAnswer,
  type ReplyFormat,
  replyFormats,
  streamedAnswer,
} from '../../support/sdk-types/reply-formats.ts';
import { readTypeGraph } from '../../support/sdk-types/type-graphs.ts';
import { replyReasonFor, typeReasonFor, unneededReply } from './sdk-fields/reviewed-replies.ts';

// Every member that a chat-completions server can send, by the types of the SDK and what others add: said to the caller
// or counted as lost. And every reply and event that comes of it has all that the types of the caller's SDK require.

/** `said`: in the reply or its events. `lost`: counted. `failed`: an error. `same`: nothing differs, and nobody is told. */
type Verdict = 'said' | 'lost' | 'failed' | 'same';

const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
const about = { id: 'chatcmpl-1', created: 1, model: 'm' };
const hello = { role: 'assistant', content: 'hello' };
const needs = {
  assistant: { content: 'hello' },
  'ChatCompletion.Choice': { index: 0, finish_reason: 'stop', message: hello, logprobs: null },
  'ChatCompletionChunk.Choice': { index: 0, finish_reason: null, delta: hello },
  'Choice.Delta': { content: 'hello' },
  VendorChoice: { message: hello },
  VendorChunkChoice: { delta: hello },
  function: { function: { name: 'lookup', arguments: '{"a":1}' } },
  custom: { custom: { name: 'free', input: 'x' } },
  CompletionUsage: usage,
  VendorUsage: usage,
};
const whole: RequestFrame = {
  basis: {
    ...about,
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', message: hello }],
    usage,
  },
  arounds: [countedOnce],
  needs,
};
const chunk: RequestFrame = {
  basis: { ...about, object: 'chat.completion.chunk', choices: [{ index: 0, delta: hello }] },
  arounds: [countedOnce],
  needs,
};

/** Usage that stands twice is read once. */
function countedOnce(body: Readonly<Record<string, unknown>>, path: string) {
  if (!path.startsWith('x_groq')) return body;
  const { usage: _, ...rest } = body;
  return rest;
}

const sources = ['openai', 'openai-previous', 'vendors'];

interface Answer {
  /** The member, as in sdk-fields/replies.txt. */
  readonly member: string;
  readonly value: unknown;
  readonly plain: boolean;
  readonly sent: string;
  /** The same without the member. */
  readonly other: string;
}

function* answers(source: string): Generator<Answer> {
  const graph = readTypeGraph(source);
  for (const { member, value, body, without } of fieldRequests(graph, 'chatReply', whole))
    yield { member, value, plain: true, sent: JSON.stringify(body), other: JSON.stringify(without) };
  for (const { member, value, body, without } of fieldRequests(graph, 'chatChunk', chunk))
    yield { member, value, plain: false, sent: streamOf(body), other: streamOf(without) };
}

/** A stream of which this is the first chunk. */
function streamOf(first: unknown): string {
  const event = (payload: unknown) => `data: ${JSON.stringify(payload)}\n\n`;
  const last = { ...about, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const text = JSON.stringify(first);
  const counted = text.includes('"usage":{') ? [] : [event({ ...about, choices: [], usage })];
  const ended = text.includes('"finish_reason":"') ? [] : [event(last)];
  return [event(first), ...ended, ...counted, 'data: [DONE]\n\n'].join('');
}

/** Objects of nothing but empty members, false and empty lists say nothing; their members are tried one by one. */
function says(value: unknown): boolean {
  return isObject(value) ? Object.values(value).some(says) : Boolean(value);
}

function judge(sent: ConvertedAnswer, other: ConvertedAnswer, value: unknown): Verdict {
  if (sent.fault !== undefined) return 'failed';
  const said = JSON.stringify(sent.reply ?? sent.events);
  if (typeof value === 'string' && value.includes(mark) && said.includes(value)) return 'said';
  // Nothing is lost of an answer without the member, nor of what the member is part of.
  if (sent.lost.length > 0) return 'lost';
  return said === JSON.stringify(other.reply ?? other.events) ? 'same' : 'said';
}

/** A whole answer goes both ways: to a plain reply, and to a stream where the node ignored `stream: true`. */
function conversions(frame: ReplyFormat, plain: boolean): readonly ((text: string) => ConvertedAnswer)[] {
  const streamed = (text: string) => streamedAnswer(frame, text);
  return plain ? [(text: string) => plainAnswer(frame, text), streamed] : [streamed];
}

const verdicts = new Map<string, Set<Verdict>>();
const faults = new Set<string>();

function noteFaults(frame: ReplyFormat, { reply, events }: ConvertedAnswer): void {
  for (const name of frame.graphs) {
    const graph = readTypeGraph(name);
    const check = (root: string, value: unknown, what: string) => {
      for (const fault of faultsOf(graph, graph.roots[root] ?? [], value, what)) faults.add(`${fault}`);
    };
    for (const root of frame.replies) if (reply !== undefined) check(root, reply, `${frame.format} reply`);
    for (const root of frame.events)
      for (const event of events) check(root, event, isObject(event) ? String(event['type'] ?? 'chunk') : '');
  }
}

for (const source of sources)
  for (const { member, value, plain, sent, other } of answers(source)) {
    if (!says(value)) continue;
    for (const frame of replyFormats)
      for (const convert of conversions(frame, plain)) {
        const answer = convert(sent);
        noteFaults(frame, answer);
        const key = `${frame.format} ${member}`;
        const set = verdicts.get(key) ?? new Set();
        verdicts.set(key, set.add(judge(answer, convert(other), value)));
      }
  }

// A number is tried as several; counts of tokens are whole, and an index may not fit the text.
for (const set of verdicts.values()) if (set.size > 1 && set.has('said')) set.delete('same');
const silent = [...verdicts].flatMap(([key, set]) => (set.has('same') ? [key] : []));

test('nothing that a server says is lost without being counted', () => {
  expect(silent.filter((key) => replyReasonFor(key) === undefined)).toEqual([]);
});

test('every reply and every event has what the types of the SDKs require', () => {
  expect([...faults].filter((fault) => typeReasonFor(fault) === undefined)).toEqual([]);
});

test('no reason outlives what it is for', () => {
  expect(unneededReply([...silent, ...faults])).toEqual([]);
});

test('what becomes of each member of an answer is as it was judged', async () => {
  const lines = [...verdicts].map(([key, set]) => `${key}: ${[...set].toSorted().join(' ')}\n`);
  await expect(lines.toSorted().join('')).toMatchFileSnapshot('sdk-fields/replies.txt');
});

describe('recorded answers', () => {
  const folder = new URL('../../wire/streams/', import.meta.url);
  const streams = readdirSync(folder).filter((name) => name.endsWith('.sse') && !name.startsWith('broken'));
  test.each(streams)('%s: replies and events have what the types require', (name) => {
    const text = readFileSync(new URL(name, folder), 'utf8');
    faults.clear();
    for (const frame of replyFormats)
      for (const convert of conversions(frame, true)) noteFaults(frame, convert(text));
    expect([...faults].filter((fault) => typeReasonFor(fault) === undefined)).toEqual([]);
  });
});
