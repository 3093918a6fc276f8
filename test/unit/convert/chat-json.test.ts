import { describe, expect, it } from 'vitest';
import { parseChat } from '../../../src/convert/chat-json.ts';
import { unpackSignatures } from '../../../src/convert/kept-signatures.ts';
import { plainAnswer, replyFormats, streamedAnswer } from '../../support/sdk-types/reply-formats.ts';
import { chatSse } from './chat-chunks.ts';

const numbers = '{"id":9223372036854775807,"price":1.50}';
const called = `"id":"a","type":"function","function":{"name":"lookup","arguments":${numbers}}`;
const signed = `{"tool_calls":[{"index":0,${called},"extra_content":${numbers}}]}`;

function plain(message: string): string {
  return `{"choices":[{"index":0,"message":${message},"finish_reason":"tool_calls"}]}`;
}

function streamed(message: string): string {
  const chunk = `{"choices":[{"index":0,"delta":${message},"finish_reason":"tool_calls"}]}`;
  return chatSse([chunk]).toString();
}

describe.each(replyFormats.filter(({ format }) => format !== 'completions'))('$name', (frame) => {
  const answers = {
    plain: () => plainAnswer(frame, plain(signed)),
    streamed: () => streamedAnswer(frame, streamed(signed)),
  };
  it.each(['plain', 'streamed'] as const)('keeps the digits of arguments that are an object, %s', (how) => {
    const text = answers[how]().text;
    expect(text).toContain('9223372036854775807');
    expect(text).toContain('1.50');
    expect(text).not.toContain('9223372036854776000');
    const packed = /mgw1\.[\w-]+/.exec(text)?.[0] ?? '';
    expect(JSON.stringify(unpackSignatures(packed, 'm')?.calls?.['a'])).toBe(numbers);
  });
});

describe('an answer whose numbers stay as they are written', () => {
  it('has plain numbers in everything that we read ourselves', () => {
    const usage = '"usage":{"prompt_tokens":5.0,"completion_tokens":1e1}';
    const body = parseChat(
      `{"choices":[{"index":0.0,"message":{"function_call":{"arguments":{}}}}],${usage}}`,
    );
    expect(body).toMatchObject({
      choices: [{ index: 0 }],
      usage: { prompt_tokens: 5, completion_tokens: 10 },
    });
  });

  it('keeps arguments that are nested too deep to be read twice', () => {
    const deep = `${'{"a":'.repeat(100_000)}1.0${'}'.repeat(100_000)}`;
    const body = parseChat(`{"choices":[{"message":{"tool_calls":[{"function":{"arguments":${deep}}}]}}]}`);
    expect(body).toHaveProperty('choices.0.message.tool_calls.0.function.arguments.a.a');
  });

  it('is undefined where it is no JSON', () => {
    expect(parseChat('{"choices":')).toBeUndefined();
  });
});
