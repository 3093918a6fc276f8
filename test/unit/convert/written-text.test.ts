import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import { convertMessagesReply } from '../../../src/convert/messages-reply.ts';
import { convertResponsesReply } from '../../../src/convert/responses-reply.ts';
import { state } from './messages-fixtures.ts';
import { convert } from './responses-fixtures.ts';

/** The text of the replies to a chat answer of this JSON. */
function texts(json: string): readonly unknown[] {
  const answer = readChatBody(Buffer.from(json));
  const message = JSON.parse(convertMessagesReply(answer, state()).json) as {
    readonly content: readonly { readonly text: string }[];
  };
  const response = JSON.parse(
    convertResponsesReply(answer, convert({ model: 'm', input: 'x' }).state).json,
  ) as { readonly output: readonly { readonly content: readonly { readonly text: string }[] }[] };
  return [message.content[0]?.text, response.output[0]?.content[0]?.text];
}

const answerOf = (members: string) =>
  `{"choices":[{"index":0,"message":{${members}},"finish_reason":"stop"}]}`;

test.each([
  ['plain', 'It is so.'],
  ['quoted', 'a "quoted" word'],
  ['of several lines', 'a\nb'],
  ['with a backslash', 'a\\b'],
  ['in any letters', 'naïve — 雨 \u2028 😀'],
])('a text %s is the same in the replies', (_name, text) => {
  expect(texts(answerOf(`"content":${JSON.stringify(text)}`))).toEqual([text, text]);
});

test.each([
  ['another content stands before it', `"x":{"content":"other"},"content":"It"`, 'It'],
  ['another content begins alike', `"x":{"content":"It is"},"content":"It"`, 'It'],
  ['another content is the same', `"x":{"content":"It"},"content":"It"`, 'It'],
  ['a name is written with escapes', String.raw`"conten\u0074":"It"`, 'It'],
  ['a letter is written with an escape', String.raw`"content":"\u0049t"`, 'It'],
  ['blanks stand before it', '"content" : "It"', 'It'],
  ['it is what follows a name, and needs an escape', String.raw`"content" :"\n","b":1`, '\n'],
])('a text is the same in the replies if %s', (_name, members, text) => {
  expect(texts(answerOf(members))[1]).toBe(text);
});

test('any text is the same in the replies, whatever stands before it', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.json(), (text, before) => {
      const written = text.trim() === '' ? 'a' : text;
      const json = answerOf(`"x":${before},"content":${JSON.stringify(written)}`);
      expect(texts(json)).toEqual([written, written]);
    }),
    { numRuns: 500 },
  );
});
