import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import { convertResponsesReply } from '../../../src/convert/responses-reply.ts';
import { createResponsesStream } from '../../../src/convert/responses-stream.ts';
import { readResponsesStream } from '../../wire/grammar/responses.ts';
import { convert, type Json, streamOf } from './responses-fixtures.ts';

const folder = new URL('../../wire/streams/', import.meta.url);
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.sse'))
  .map((name) => name.replace('.sse', ''));

function read(name: string): Buffer {
  return readFileSync(new URL(`${name}.sse`, folder));
}

/** Items in short: `kind text` or `call_id name arguments`, and input, output, cached and reasoning tokens. */
interface Told {
  readonly output: readonly string[];
  readonly usage?: readonly number[];
  readonly error?: string;
}

const told: Readonly<Record<string, Told>> = {
  'openai-text': { output: ['message Grüße 🎉'], usage: [20, 5, 16, 0] },
  'openai-parallel-tools': {
    output: ['call_A get_weather {"city":"Paris"}', 'call_B get_weather {"city":"Rome"}'],
    usage: [30, 12, 0, 0],
  },
  'azure-filter-first': { output: ['message Hi'], usage: [3, 1, 0, 0] },
  'deepseek-reasoning': { output: ['reasoning Let me think.', 'message 42'], usage: [50, 9, 32, 6] },
  'mistral-thinking': { output: ['reasoning Hmm.', 'message Yes'], usage: [5, 4, 0, 0] },
  'mistral-tool': { output: ['D681PevKs f {"a": 1}'], usage: [5, 4, 0, 0] },
  'gemini-index-zero': {
    output: ['function-call-1 f {"a":1}', 'function-call-2 g {"b":2}'],
    usage: [9, 8, 0, 0],
  },
  'ollama-tool-stop': { output: ['reasoning I need it.', 'call_x1 f {"a":1}'], usage: [11, 7, 0, 0] },
  'qwen-empty-ids': { output: ['call_q f {"a":1}'], usage: [8, 6, 0, 0] },
  'groq-usage': { output: ['reasoning Quick.', 'message Hi'], usage: [6, 4, 0, 0] },
  'xai-reasoning-tokens': { output: ['reasoning Deep.', 'message Hi'], usage: [291, 222, 0, 196] },
  'openrouter-reasoning-twice': { output: ['reasoning Hm.', 'message Hi'], usage: [4, 3, 0, 0] },
  'vllm-usage-everywhere': { output: ['message One'], usage: [7, 3, 0, 0] },
  'vllm-interleaved-tools': {
    output: ['chatcmpl-tool-1 f {"a": 1}', 'chatcmpl-tool-2 g {"b": 2}'],
    usage: [0, 0, 0, 0],
  },
  'litellm-thinking-blocks': { output: ['reasoning Hm.', 'message Hi'], usage: [4, 3, 0, 0] },
  'kimi-ids': { output: ['functions_f_0 f {}', 'functions_f_1 f {}'], usage: [3, 2, 0, 0] },
  'lm-studio-names': { output: ['365174485 f {"a":1}'], usage: [0, 0, 0, 0] },
  'llama-cpp-no-finish': { output: ['message \n\n', 'abc f {}'], usage: [2, 2, 0, 0] },
  // Arguments are the node's text; whoever calls the tool sees that they are no JSON.
  'broken-arguments': { output: ['a f {"a":1'], usage: [0, 0, 0, 0] },
  'broken-early-end': { output: [], error: 'The model server ended its answer before it was complete.' },
  'broken-error-chunk': { output: [], error: 'CUDA out of memory' },
  'broken-json': { output: [], error: 'The model server sent an event that is no JSON object.' },
};

function short(response: Json): { output: readonly string[]; usage: readonly unknown[] } {
  const items: readonly Json[] = Array.isArray(response['output']) ? response['output'] : [];
  const output = items.map(({ type, call_id, name, arguments: text, content }) => {
    const said = (Array.isArray(content) ? content : []).map((part) => part.text).join('');
    return type === 'function_call' ? `${call_id} ${name} ${text}` : `${type} ${said}`;
  });
  const usage = Object(response['usage']);
  return {
    output,
    usage: [
      usage.input_tokens,
      usage.output_tokens,
      usage.input_tokens_details?.cached_tokens,
      usage.output_tokens_details?.reasoning_tokens,
    ],
  };
}

describe('recorded habits of nodes', () => {
  it('are all told of here', () => {
    expect(Object.keys(told).toSorted()).toEqual(names.toSorted());
  });

  it.each(names)('%s: the response, streamed and whole', (name) => {
    const { response, problems } = readResponsesStream(streamOf(read(name)));
    expect(problems).toEqual([]);
    const { output, usage, error } = told[name] ?? { output: [] };
    if (error !== undefined) {
      expect(response).toMatchObject({ status: 'failed', error: { message: error } });
      expect(() => readChatBody(read(name))).toThrow(error);
      return;
    }
    expect(short(response)).toEqual({ output, usage });
    const { state } = convert({ model: 'm', input: 'hi' });
    expect(short(JSON.parse(convertResponsesReply(readChatBody(read(name)), state).json))).toEqual({
      output,
      usage,
    });
  });

  it.each(names)('%s: the same bytes in CRLF, in CR, and however they are cut', (name) => {
    const bytes = read(name);
    const whole = streamOf(bytes);
    expect(streamOf(Buffer.from(bytes.toString().replaceAll('\n', '\r\n')))).toBe(whole);
    expect(streamOf(Buffer.from(bytes.toString().replaceAll('\n', '\r')), {}, 3)).toBe(whole);
    expect(streamOf(Buffer.from(`\ufeff${bytes.toString()}`), {}, 2)).toBe(whole);
    expect(streamOf(bytes, {}, 1)).toBe(whole);
    for (let at = 1; at < bytes.length; at += 5) {
      const stream = createResponsesStream(convert({ model: 'm', input: 'hi', stream: true }).state);
      const out = [
        ...stream.push(bytes.subarray(0, at)),
        ...stream.push(bytes.subarray(at)),
        ...stream.end(),
      ];
      if (stream.fault !== undefined) out.push(...stream.fail(stream.fault));
      if (out.join('') !== whole) throw new Error(`differs when cut at byte ${at}`);
    }
  });
});
