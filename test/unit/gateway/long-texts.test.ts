import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/convert/chat-request.ts';
import { scanObject } from '../../../src/gateway/json-scan.ts';
import { LongTexts } from '../../../src/gateway/long-texts.ts';

const long = 'The "quick" fox — naïve \\ as\u2028ever 🦊\n\u0000'.repeat(40);
const other = 'word '.repeat(300);

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

describe('LongTexts', () => {
  it.each(Object.entries(bodies))('reads %s as JSON.parse does', (_name, json) => {
    const parsed = parse(new LongTexts(), json);
    expect(parsed).toEqual(JSON.parse(json));
    expect(JSON.stringify(parsed)).toBe(JSON.stringify(JSON.parse(json)));
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  it('reads and writes whatever may stand in a request', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ unit: 'grapheme', maxLength: 20 }).map((part) => `${part}"\\`.repeat(200)),
      fc.constantFrom(long, other, '"content":""', '"text":""'),
    );
    const message = fc.record(
      {
        role: fc.constantFrom('user', 'system', 'tool', 'assistant'),
        content: fc.oneof(
          text,
          fc.array(
            fc.oneof(
              fc.record({ type: fc.constant('text'), text }),
              fc.record({ type: fc.constant('image_url'), image_url: fc.record({ url: text }) }),
            ),
          ),
          fc.constant(null),
        ),
        tool_calls: fc.array(fc.record({ id: text, function: fc.record({ arguments: text }) })),
      },
      { requiredKeys: ['role', 'content'] },
    );
    const chat = fc.record(
      { model: text, messages: fc.array(message), stop: fc.array(text), user: text },
      { requiredKeys: ['model', 'messages'] },
    );
    const property = fc.property(chat, fc.boolean(), (request, reversed) => {
      const texts = new LongTexts();
      const parsed = parse(texts, JSON.stringify(request)) as ChatRequest;
      expect(parsed).toEqual(JSON.parse(JSON.stringify(request)));
      const messages = reversed ? parsed.messages.toReversed() : parsed.messages;
      const written = texts.write({ ...parsed, messages }).toString('utf8');
      expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify({ ...parsed, messages })));
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('carries over the bytes of the caller', () => {
    const spelled = `"${'\\u00e9 \\/ '.repeat(600)}"`;
    const texts = new LongTexts();
    const body = parse(texts, `{"messages":[{"role":"user","content":${spelled}}]}`) as ChatRequest;
    const written = texts.write({ ...body, model: 'm' }).toString('utf8');
    expect(written).toBe(`{"model":"m","messages":[{"role":"user","content":${spelled}}]}`);
  });

  it('finds texts behind one that was left out, and writes joined ones anew', () => {
    const texts = new LongTexts();
    const [a, b, c] = ['a', 'b', 'c'].map((letter) => `${letter}\u00e9`.repeat(900)) as [
      string,
      string,
      string,
    ];
    parse(texts, JSON.stringify({ all: [a, b, c] }));
    const messages = [a, c, `${a}${b}`].map((content) => ({ role: 'user', content }) as const);
    expect(JSON.parse(texts.write({ model: 'm', messages }).toString('utf8'))).toEqual({
      model: 'm',
      messages,
    });
  });
});
