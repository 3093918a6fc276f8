import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../../src/convert/chat-request.ts';
import { type ConvertedFormat, convertedFormats } from '../../../../src/convert/converted-formats.ts';
import { resolveDialect } from '../../../../src/convert/dialect.ts';
import { scanObject } from '../../../../src/gateway/admission/json-scan.ts';
import { LongTexts } from '../../../../src/gateway/conversion/long-texts.ts';
import { validRequest } from '../../convert/messages-arbitraries.ts';
import { anyDialect, validResponsesRequest } from '../../convert/responses-arbitraries.ts';

const long = 'The "quick" fox — naïve \\ as\u2028ever 🦊\n\u0000'.repeat(40);
const other = 'word '.repeat(300);

const header = `x-anthropic-billing-header: ${other}\nYou are`;
const said = (text: string) => ({ type: 'text', text });
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });

/** Every value of a body that the tests below read, as JSON in several spellings. */
const bodies: Readonly<Record<string, string>> = {
  'long values': JSON.stringify({ a: long, b: [other, long, { c: `${long}!` }], short: 'x' }),
  'white space': JSON.stringify({ a: long, [other]: { b: other, c: 1 } }, null, '\t'),
  'escapes of all kinds': `{"a":"${'\\u00e9\\/\\"\\\\'.repeat(300)}","b":"${'\\ud800'.repeat(900)}","c":"${'\\\\'.repeat(999)}"}`,
  'long keys': `{"${'k'.repeat(5000)}" : "${'v'.repeat(5000)}"}`,
  'keys twice': `{"a":"${'x'.repeat(3000)}","a":"${'y'.repeat(3000)}"}`,
  'a key of the prototype': `{"__proto__":"${'x'.repeat(5000)}","constructor":{"__proto__":{"a":"${other}"}}}`,
  'numbers for keys': `{"2":"${'b'.repeat(3000)}","1":"${'a'.repeat(3000)}"}`,
  'no long value': JSON.stringify({ a: Array.from({ length: 900 }, (_, index) => `text ${index}`) }),
  'one string': JSON.stringify({ a: 's'.repeat(9000) }),
};

function parse(texts: LongTexts, json: string): unknown {
  const bytes = Buffer.from(json);
  return texts.parse(
    bytes,
    scanObject(bytes, 512, () => {}),
  );
}

/** The value with the texts in place of the marks. */
function parseWhole(json: string): unknown {
  const texts = new LongTexts();
  return texts.readWithin(parse(texts, json));
}

/** A request as it is sent, behind something else. */
function written(texts: LongTexts, chat: object): string {
  const body = texts.body(chat);
  const bytes = Buffer.alloc(body.length + 3);
  body.writeTo(bytes, 3);
  return bytes.toString('utf8', 3);
}

/** Where all strings among the values stand but the words that name things, however short. */
function allTexts(json: string): number[] {
  const places: number[] = [];
  for (const { 0: text, 1: colon, index } of json.matchAll(/"(?:[^"\\]|\\.)*"(:?)/gs)) {
    if (colon === ':' || /"(?:type|role)":$/.test(json.slice(0, index))) continue;
    const start = Buffer.byteLength(json.slice(0, index));
    places.push(start, start + Buffer.byteLength(text));
  }
  return places;
}

/** The chat requests that a conversion of `body` writes, and what it dropped. */
function converted(format: ConvertedFormat, body: unknown, wish: object, texts: LongTexts) {
  const dialect = resolveDialect({ host: 'n.example', model: 'm', node: wish });
  const options = { model: 'm', dialect, newId: (prefix: string) => `${prefix}1`, now: () => 0, texts };
  const { chats, dropped, reply } = convertedFormats[format].convert(body, options);
  const answer = { reasoning: [], text: 'x', refusal: '', toolCalls: [], citations: [], logprobs: [] };
  const end = { finish: 'stop', stopString: undefined, usage: { prompt: 1, completion: 1 } };
  const answers = chats.map(() => ({
    ...answer,
    ...end,
    serviceTier: undefined,
    kept: [],
    unread: new Set<string>(),
  }));
  return {
    chats: chats.map((chat) => JSON.parse(written(texts, chat)) as unknown),
    dropped,
    reply: JSON.parse(reply(answers as unknown as Parameters<typeof reply>[0]).json) as unknown,
  };
}

describe('LongTexts', () => {
  it.each(Object.entries(bodies))('reads %s as JSON.parse does', (_name, json) => {
    const parsed = parseWhole(json);
    expect(parsed).toEqual(JSON.parse(json));
    expect(JSON.stringify(parsed)).toBe(JSON.stringify(JSON.parse(json)));
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  it.each([
    ['messages', validRequest],
    ['responses', validResponsesRequest],
  ] as const)('converts %s to what they are without it', (format, bodies) => {
    const property = fc.property(bodies as fc.Arbitrary<unknown>, anyDialect, (body, wish) => {
      const json = JSON.stringify(body);
      const texts = new LongTexts();
      const marked = texts.parse(Buffer.from(json), { longStrings: allTexts(json), oddNumbers: false });
      const carried = converted(format, marked, wish, texts);
      expect(carried).toEqual(converted(format, JSON.parse(json), wish, new LongTexts()));
    });
    fc.assert(property, { numRuns: 300, seed: 7 });
  });

  it.each([
    ['a prompt that is echoed', 'completions', { prompt: other, echo: true }],
    ['a prompt that is not', 'completions', { prompt: long, n: 2 }],
    ['a system prompt behind a header', 'messages', { system: [{ type: 'text', text: header }, said(long)] }],
    ['blank texts', 'messages', { messages: [user(other), assistant('\u00a0 \n'.repeat(300))] }],
    [
      'a text that begins with an escape',
      'messages',
      { messages: [user(`\\n${other}`), user(`\n${other}`)] },
    ],
    [
      'short texts beside long ones',
      'messages',
      {
        messages: [user([said('naïve 🦊'), said(long), said(`ł${'o'.repeat(200)}`), said(other), said('é')])],
      },
    ],
    ['texts that are joined', 'messages', { messages: [user(long), user([said(other), said(long)])] }],
    [
      'what tools say and are told',
      'messages',
      {
        messages: [
          assistant([
            { type: 'tool_use', id: 'a', name: 'f', input: { text: long, content: [said(long)] } },
            { type: 'tool_use', id: 'b', name: 'f', input: {} },
          ]),
          user([
            { type: 'tool_result', tool_use_id: 'a', content: long },
            { type: 'tool_result', tool_use_id: 'b', is_error: true, content: [said(`Error: ${long}`)] },
          ]),
        ],
      },
    ],
    ['instructions, which are part of the reply', 'responses', { instructions: other, input: long }],
    [
      'free text for a tool, and its output',
      'responses',
      {
        input: [
          { type: 'custom_tool_call', call_id: 'a', name: 'f', input: long },
          { type: 'custom_tool_call_output', call_id: 'a', output: long },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: other }] },
        ],
      },
    ],
  ] as const)('keeps the meaning of %s', (_name, format, fields) => {
    const json = JSON.stringify({ model: 'm', max_tokens: 9, messages: [user('x')], ...fields });
    const texts = new LongTexts();
    const carried = converted(format, parse(texts, json), {}, texts);
    expect(carried).toEqual(converted(format, JSON.parse(json), {}, new LongTexts()));
  });

  it('carries over the bytes of the caller', () => {
    const spelled = 'a\\u00e9 \\/ '.repeat(600);
    const texts = new LongTexts();
    const body = parse(texts, `{"messages":[{"role":"user","content":"${spelled}"}]}`) as ChatRequest;
    const [first] = body.messages;
    expect(first?.content).not.toContain('é');
    const messages = [{ role: 'user', content: `<${String(first?.content)}>` }];
    expect(written(texts, { model: 'm', messages })).toBe(
      `{"model":"m","messages":[{"role":"user","content":"<${spelled}>"}]}`,
    );
  });
});

describe('numbers of a body', () => {
  const digits = fc.stringMatching(/^(?:0|[1-9]\d{0,25})$/);
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      digits,
      fc.constantFrom('', '.0', '.5', '.50', '.00000001', '.12345678901234567890'),
      fc.constantFrom('', 'e400', 'E5', 'e-7', 'e+0'),
    )
    .map((parts) => parts.join(''));

  it('below its top level are written as they came', () => {
    fc.assert(
      fc.property(number, fc.constantFrom('', 'y'.repeat(3000)), (each, text) => {
        const json = `{"a":{"b":${each},"c":[${each},${each}]},"d":[{"e":${each}},"${text}"]}`;
        expect(JSON.stringify(parseWhole(json))).toBe(json);
      }),
      { numRuns: 500 },
    );
  });

  it('at its top level are numbers', () => {
    expect(parse(new LongTexts(), '{"temperature":1.0,"a":[1,2.5,-3]}')).toEqual({
      temperature: 1,
      a: [1, 2.5, -3],
    });
  });
});
