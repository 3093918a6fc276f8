import { describe, expect, it } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import type { ChatAssistantMessage } from '../../../src/convert/chat-request.ts';
import { resolveDialect } from '../../../src/convert/dialect.ts';
import {
  type KeptSignatures,
  packSignatures,
  unpackSignatures,
} from '../../../src/convert/kept-signatures.ts';
import { limits } from '../../../src/convert/limits.ts';
import { convertMessagesRequest } from '../../../src/convert/messages-request.ts';
import { convertResponsesRequest } from '../../../src/convert/responses-request.ts';
import {
  type ConvertedAnswer,
  plainAnswer,
  type ReplyFormat,
  replyFormats,
  streamedAnswer,
} from '../../support/sdk-types/reply-formats.ts';
import { callEntry, chatSse, delta } from './chat-chunks.ts';

// What a node signs or encrypts comes out in a member that the caller's program sends back: of thinking and
// redacted_thinking blocks, and of reasoning items.

type Fields = Readonly<Record<string, unknown>>;

const google = { google: { thought_signature: 'c2lnbmF0dXJl' } };
const encrypted = {
  type: 'reasoning.encrypted',
  data: 'ZW5j',
  id: 'a',
  format: 'google-gemini-v1',
  index: 1,
};
const signedCall = (index: number, id: string) => ({
  ...callEntry(index, id, 'lookup', '{}'),
  extra_content: google,
});

const formats = replyFormats.filter(({ format }) => format !== 'completions');

interface Case {
  readonly chunks: readonly unknown[];
  readonly kept: readonly KeptSignatures[];
  /** Kinds of blocks in order, of a message and of a response. */
  readonly blocks: readonly string[];
  readonly items: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  'a signed call': {
    chunks: [delta({ tool_calls: [signedCall(0, 'a')] }), delta({}, 'tool_calls')],
    kept: [{ calls: { a: google } }],
    blocks: ['redacted_thinking', 'tool_use'],
    items: ['reasoning', 'function_call'],
  },
  'a signed call behind thoughts': {
    chunks: [
      delta({ reasoning_content: 'hm' }),
      delta({ tool_calls: [signedCall(0, 'a')] }),
      delta({}, 'tool_calls'),
    ],
    kept: [{ calls: { a: google } }],
    blocks: ['thinking', 'tool_use'],
    items: ['reasoning', 'function_call'],
  },
  'a call whose encrypted reasoning comes before it': {
    chunks: [
      delta({ reasoning_details: [{ type: 'reasoning.text', text: 'h', index: 0 }] }),
      delta({ reasoning_details: [{ type: 'reasoning.text', text: 'm', index: 0 }] }),
      delta({ reasoning_details: [encrypted] }),
      delta({ tool_calls: [callEntry(0, 'a', 'lookup', '{}')] }),
      delta({}, 'tool_calls'),
    ],
    kept: [{ details: [{ type: 'reasoning.text', text: 'hm', index: 0 }, encrypted] }],
    blocks: ['thinking', 'tool_use'],
    items: ['reasoning', 'function_call'],
  },
  'a signed text': {
    chunks: [delta({ content: 'a' }), delta({ extra_content: google }), delta({}, 'stop')],
    kept: [{ message: google }],
    blocks: ['text', 'redacted_thinking'],
    items: ['message', 'reasoning'],
  },
  'reasoning that is no secret': {
    chunks: [
      delta({ reasoning_details: [{ type: 'reasoning.text', text: 'hm' }], content: 'a' }),
      delta({}, 'stop'),
    ],
    kept: [],
    blocks: ['thinking', 'text'],
    items: ['reasoning', 'message'],
  },
};

/** Of a reply, or of the blocks and items that events begin and end: kinds, and what is packed. */
function read(answer: ConvertedAnswer): {
  readonly kinds: readonly unknown[];
  readonly packed: readonly KeptSignatures[];
} {
  const parts = partsIn(answer);
  const texts = parts.flatMap((part) => [part['signature'], part['data'], part['encrypted_content']]);
  const packed = texts.flatMap((text) => {
    const kept = typeof text === 'string' ? unpackSignatures(text, 'm') : undefined;
    return kept === undefined ? [] : [kept];
  });
  return { kinds: parts.map((part) => part['type']), packed };
}

function partsIn({ reply, events }: ConvertedAnswer): readonly Fields[] {
  return reply === undefined ? streamedParts(events as readonly Fields[]) : partsOf(reply as Fields);
}

function partsOf(reply: Fields): readonly Fields[] {
  return (reply['content'] ?? reply['output']) as readonly Fields[];
}

function streamedParts(events: readonly Fields[]): readonly Fields[] {
  const parts: Record<string, unknown>[] = [];
  for (const event of events) {
    const { type, content_block: block, delta: change, item } = event as Record<string, Fields | undefined>;
    if (block !== undefined) parts.push({ ...block });
    if (change?.['type'] === 'signature_delta')
      Object.assign(parts.at(-1) ?? {}, { signature: change['signature'] });
    if (item !== undefined && String(type).endsWith('done')) parts.push({ ...item });
  }
  return parts;
}

/** What of the chat request is signed, when the caller sends these blocks or items back. */
function sentBack({ format }: ReplyFormat, parts: readonly Fields[]): readonly unknown[] {
  const options = {
    ...{ model: 'm', dialect: resolveDialect({ host: 'x', model: 'm' }) },
    ...{ newId: (prefix: string) => `${prefix}1`, now: () => 0 },
  };
  const used = parts.flatMap((part) => (part['type'] === 'tool_use' ? [part['id']] : []));
  const called = parts.flatMap((part) => (part['type'] === 'function_call' ? [part['call_id']] : []));
  const results = used.map((tool_use_id) => ({ type: 'tool_result', tool_use_id, content: 'r' }));
  const outputs = called.map((call_id) => ({ type: 'function_call_output', call_id, output: 'r' }));
  const next = { role: 'user', content: 'and?' };
  const conversation = [next, { role: 'assistant', content: parts }, { ...next, content: results }, next];
  const { chat, lossy } =
    format === 'messages'
      ? convertMessagesRequest({ model: 'c', max_tokens: 9, messages: conversation }, options)
      : convertResponsesRequest({ model: 'c', input: [next, ...parts, ...outputs, next] }, options);
  expect(lossy).toBe(false);
  const [said] = chat.messages.filter(({ role }) => role === 'assistant') as readonly ChatAssistantMessage[];
  const calls = said?.tool_calls?.map(({ id, extra_content }) => ({ calls: { [id]: extra_content } })) ?? [];
  return [
    ...calls.filter((call) => Object.values(call.calls)[0] !== undefined),
    ...(said?.extra_content === undefined ? [] : [{ message: said.extra_content }]),
    ...(said?.reasoning_details === undefined ? [] : [{ details: said.reasoning_details }]),
  ];
}

describe.each(formats)('$name', (frame: ReplyFormat) => {
  it.each(Object.entries(cases))('back at the node: %s', (_, { chunks, kept }) => {
    const sse = Buffer.from(chatSse(chunks)).toString();
    for (const answer of [streamedAnswer(frame, sse), plainAnswer(frame, sse)])
      expect(sentBack(frame, partsIn(answer))).toEqual(kept);
  });

  it.each(Object.entries(cases))('streamed: %s', (_, { chunks, kept, blocks, items }) => {
    const answer = streamedAnswer(frame, Buffer.from(chatSse(chunks)).toString());
    const { kinds, packed } = read(answer);
    expect(packed).toEqual(kept);
    expect(kinds).toEqual(frame.format === 'messages' ? blocks : items);
    expect(answer.lost).toEqual([]);
  });

  it.each(Object.entries(cases))('plain: %s', (_, { chunks, kept }) => {
    const { packed } = read(plainAnswer(frame, Buffer.from(chatSse(chunks)).toString()));
    expect(packed).toEqual(kept);
  });

  it('a signature for each of several calls, before its call', () => {
    const calls = [signedCall(0, 'a'), callEntry(1, 'b', 'lookup', '{}'), signedCall(2, 'c')];
    const chunks = [...calls.map((call) => delta({ tool_calls: [call] })), delta({}, 'tool_calls')];
    const { packed, kinds } = read(streamedAnswer(frame, Buffer.from(chatSse(chunks)).toString()));
    expect(packed).toEqual([{ calls: { a: google } }, { calls: { c: google } }]);
    expect(kinds).toHaveLength(5);
  });

  it('what is too large is counted, and the answer goes on', () => {
    const large = { google: { thought_signature: 'x'.repeat(limits.keptSignatures) } };
    const call = { ...callEntry(0, 'a', 'lookup', '{}'), extra_content: large };
    const chunks = [delta({ tool_calls: [call] }), delta({}, 'tool_calls')];
    const text = Buffer.from(chatSse(chunks)).toString();
    for (const answer of [plainAnswer(frame, text), streamedAnswer(frame, text)]) {
      expect(answer.fault).toBeUndefined();
      expect(answer.lost).toEqual(['signature']);
      expect(read(answer).packed).toEqual([]);
    }
  });
});

it.each(formats)('$name: what is nested too deep to be written again is counted', (frame) => {
  const extra = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  const message = `{"role":"assistant","content":"a","extra_content":${extra}}`;
  const answer = plainAnswer(frame, `{"choices":[{"index":0,"finish_reason":"stop","message":${message}}]}`);
  expect(answer.lost).toEqual(['signature']);
});

it('a whole body keeps details as they came', () => {
  const details = [encrypted, { ...encrypted, data: 'Yg==' }];
  const message = { role: 'assistant', content: 'a', reasoning_details: details };
  const body = { choices: [{ index: 0, finish_reason: 'stop', message }] };
  expect(readChatBody(Buffer.from(JSON.stringify(body))).kept).toEqual([{ details, whole: true }]);
  const packed = packSignatures({ details }, 'm');
  for (const frame of formats)
    expect(JSON.stringify(plainAnswer(frame, JSON.stringify(body)).reply)).toContain(packed);
});
