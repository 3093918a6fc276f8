import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readMessagesStream } from '../../wire/grammar/messages.ts';
import { countingIds, state, streamed, text, tool } from './messages-fixtures.ts';

const folder = new URL('../../wire/streams/', import.meta.url);
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.sse'))
  .map((name) => name.replace('.sse', ''));

const thinking = (value: string, signature = '') => ({ type: 'thinking', thinking: value, signature });

interface Told {
  readonly content: readonly object[];
  readonly stop: string | null;
  /** Input, output, read from the cache, written to it. */
  readonly usage: readonly number[];
  readonly error?: string;
}

const told: Readonly<Record<string, Told>> = {
  'openai-text': { content: [text('Grüße 🎉')], stop: 'end_turn', usage: [4, 5, 16, 0] },
  'openai-parallel-tools': {
    content: [
      tool('call_A', 'get_weather', { city: 'Paris' }),
      tool('call_B', 'get_weather', { city: 'Rome' }),
    ],
    stop: 'tool_use',
    usage: [30, 12, 0, 0],
  },
  'azure-filter-first': { content: [text('Hi')], stop: 'end_turn', usage: [3, 1, 0, 0] },
  'deepseek-reasoning': {
    content: [thinking('Let me think.'), text('42')],
    stop: 'end_turn',
    usage: [18, 9, 32, 0],
  },
  'mistral-thinking': { content: [thinking('Hmm.'), text('Yes')], stop: 'end_turn', usage: [5, 4, 0, 0] },
  'mistral-tool': { content: [tool('D681PevKs', 'f', { a: 1 })], stop: 'tool_use', usage: [5, 4, 0, 0] },
  'gemini-index-zero': {
    content: [tool('function-call-1', 'f', { a: 1 }), tool('function-call-2', 'g', { b: 2 })],
    stop: 'tool_use',
    usage: [9, 8, 0, 0],
  },
  'ollama-tool-stop': {
    content: [thinking('I need it.'), tool('call_x1', 'f', { a: 1 })],
    stop: 'tool_use',
    usage: [11, 7, 0, 0],
  },
  'qwen-empty-ids': { content: [tool('call_q', 'f', { a: 1 })], stop: 'tool_use', usage: [8, 6, 0, 0] },
  'groq-usage': { content: [thinking('Quick.'), text('Hi')], stop: 'end_turn', usage: [6, 4, 0, 0] },
  'xai-reasoning-tokens': {
    content: [thinking('Deep.'), text('Hi')],
    stop: 'end_turn',
    usage: [291, 222, 0, 0],
  },
  'openrouter-reasoning-twice': {
    content: [thinking('Hm.', 'c2ln'), text('Hi')],
    stop: 'end_turn',
    usage: [4, 3, 0, 0],
  },
  'vllm-usage-everywhere': { content: [text('One')], stop: 'stop_sequence', usage: [7, 3, 0, 0] },
  'vllm-interleaved-tools': {
    content: [tool('chatcmpl-tool-1', 'f', { a: 1 }), tool('chatcmpl-tool-2', 'g', { b: 2 })],
    stop: 'tool_use',
    usage: [0, 0, 0, 0],
  },
  'litellm-thinking-blocks': {
    content: [thinking('Hm.', 'c2ln'), text('Hi')],
    stop: 'end_turn',
    usage: [2, 3, 0, 2],
  },
  'kimi-ids': {
    content: [tool('functions_f_0', 'f'), tool('functions_f_1', 'f')],
    stop: 'tool_use',
    usage: [3, 2, 0, 0],
  },
  'lm-studio-names': { content: [tool('365174485', 'f', { a: 1 })], stop: 'tool_use', usage: [0, 0, 0, 0] },
  'llama-cpp-no-finish': { content: [tool('abc', 'f')], stop: 'tool_use', usage: [2, 2, 0, 0] },
  'broken-early-end': {
    content: [],
    stop: null,
    usage: [],
    error: 'The model server ended its answer before it was complete.',
  },
  'broken-error-chunk': { content: [], stop: null, usage: [], error: 'CUDA out of memory' },
  'broken-json': {
    content: [],
    stop: null,
    usage: [],
    error: 'The model server sent an event that is no JSON object.',
  },
  'broken-arguments': {
    content: [],
    stop: null,
    usage: [],
    error: 'The model server ended a tool call before its arguments were complete.',
  },
};

describe('recorded habits of nodes', () => {
  it('are all told of here', () => {
    expect(Object.keys(told).sort()).toEqual(names.sort());
  });

  it.each(names)('%s: the message', (name) => {
    const bytes = readFileSync(new URL(`${name}.sse`, folder));
    const message = readMessagesStream(streamed(bytes, state({ stop_sequences: ['END'] })), {
      mayBeCut: true,
    });
    const { usage } = message;
    const counts = [
      'input_tokens',
      'output_tokens',
      'cache_read_input_tokens',
      'cache_creation_input_tokens',
    ].map((field) => usage[field]);
    expect(message.error?.['message']).toBe(told[name]?.error);
    expect(message.content).toEqual(told[name]?.content);
    expect(message.stopReason).toBe(told[name]?.stop);
    if (message.error === undefined) expect(counts).toEqual(told[name]?.usage);
  });

  it.each(names)('%s: the same bytes in CRLF, in CR, and cut at every byte', (name) => {
    const bytes = readFileSync(new URL(`${name}.sse`, folder));
    const whole = streamed(bytes);
    expect(streamed(Buffer.from(bytes.toString().replaceAll('\n', '\r\n')))).toBe(whole);
    expect(streamed(Buffer.from(bytes.toString().replaceAll('\n', '\r')), state(), 3)).toBe(whole);
    expect(streamed(Buffer.from(`\ufeff${bytes.toString()}`), state(), 2)).toBe(whole);
    expect(streamed(bytes, state(), 1)).toBe(whole);
    const base = state();
    for (let at = 1; at < bytes.length; at += 1) {
      const cut = [bytes.subarray(0, at), bytes.subarray(at)];
      if (streamed(cut, { ...base, newId: countingIds() }) !== whole)
        throw new Error(`differs when cut at byte ${at}`);
    }
  });
});
