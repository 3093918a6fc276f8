import { describe, expect, it } from 'vitest';
import { convertCompletionsRequest } from '../../../src/convert/completions-request.ts';
import type { Dialect } from '../../../src/convert/dialect.ts';
import { packSignatures } from '../../../src/convert/kept-signatures.ts';
import { convertResponsesRequest } from '../../../src/convert/responses-request.ts';
import { parseAsWritten } from '../../../src/convert/written-numbers.ts';
import { type Json, options } from './responses-fixtures.ts';

const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' };
const output = { type: 'function_call_output', call_id: 'call_1', output: 'r' };
const user = { role: 'user', content: 'hi' };
const said = (part: Json) => [{ type: 'message', role: 'user', content: [part] }, user];

function convert(input: unknown, more: Json = {}, dialect: Partial<Dialect> = {}) {
  const base = options();
  return convertResponsesRequest(
    { model: 'm', input, ...more },
    { ...base, dialect: { ...base.dialect, ...dialect } },
  );
}

describe('a member that no code reads', () => {
  it.each<readonly [string, unknown, Json, string]>([
    ['of the request', 'hi', { foo: 1 }, 'foo'],
    ['of stream_options', 'hi', { stream_options: { foo: 1 } }, 'stream_options.foo'],
    ['of the text format', 'hi', { text: { format: { type: 'text', foo: 1 } } }, 'text.format.foo'],
    ['of a tool', 'hi', { tools: [{ type: 'function', name: 'f', foo: 1 }] }, 'tools[0].foo'],
    [
      'of a member of a namespace',
      'hi',
      { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', foo: 1 }] }] },
      'tools[0].tools[0].foo',
    ],
    ['of an item', [{ ...user, foo: 1 }], {}, 'input[0].foo'],
    ['of a part', said({ type: 'input_text', text: 'a', foo: 1 }), {}, 'input[0].content[0].foo'],
    ['of a call', [call, { ...output, foo: 1 }], {}, 'input[1].foo'],
    [
      "of a call's caller",
      [{ ...call, caller: { type: 'program', caller_id: 'p' } }, output],
      {},
      'input[0].caller.type',
    ],
  ])('%s is named and a loss', (_, input, more, path) => {
    const { dropped, lossy } = convert(input, more);
    expect(dropped).toContain(path);
    expect(lossy).toBe(true);
  });

  it('of stream_options of completions is named and a loss', () => {
    const body = { model: 'm', prompt: 'p', stream_options: { include_usage: true, foo: 1 } };
    const named = { dropped: ['stream_options.foo'], lossy: true };
    expect(convertCompletionsRequest(body, options())).toMatchObject(named);
  });
});

describe('a responses request', () => {
  it('names the detail that chat-completions does not know', () => {
    const part = { type: 'input_image', image_url: 'https://a.example/x.png', detail: 'original' };
    const { chat, dropped, lossy } = convert(said(part));
    expect(JSON.stringify(chat)).toContain('"detail":"high"');
    expect({ dropped, lossy }).toEqual({ dropped: ['input[0].content[0].detail'], lossy: true });
  });

  it('takes marks of the history for hints', () => {
    const part = {
      type: 'output_text',
      text: 'a',
      annotations: [{ type: 'file_path', file_id: 'f', index: 0 }],
      logprobs: [{ token: 'a', bytes: [], logprob: 0, top_logprobs: [] }],
    };
    const item = {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      status: 'completed',
      phase: 'final_answer',
    };
    expect(convert([{ ...item, content: [part] }, user])).toMatchObject({
      dropped: ['input[0].phase', 'input[0].content[0].annotations', 'input[0].content[0].logprobs'],
      lossy: false,
    });
  });

  it('names reasoning that nothing of the assistant follows', () => {
    const reasoning = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] };
    const field = { reasoningHistoryField: 'Reasoning' } as const;
    expect(convert([reasoning, user], {}, field).dropped).toEqual(['input[0]']);
    expect(convert([user, reasoning], {}, field).dropped).toEqual(['input[1]']);
    expect(convert([reasoning, call, output], {}, field).dropped).toEqual([]);
  });

  it('writes the numbers of schemas as they came, also where it repeats them', () => {
    const schema = '{"type":"object","properties":{"a":{"maximum":9223372036854775807,"x":[1e400,1.0,-0]}}}';
    const body = JSON.stringify({
      model: 'm',
      input: 'hi',
      temperature: 0.5,
      tools: [{ type: 'function', name: 'f', parameters: 0 }],
      text: { format: { type: 'json_schema', name: 'n', schema: 1 } },
    })
      .replace('"parameters":0', `"parameters":${schema}`)
      .replace('"schema":1', `"schema":${schema}`)
      .replace('0.5', '0.50');
    const { chat, state } = convertResponsesRequest(parseAsWritten(body), options());
    const sent = JSON.stringify(chat);
    expect(sent).toContain(`"parameters":${schema}`);
    expect(sent).toContain(`"schema":${schema}`);
    expect(chat.temperature).toBe(0.5);
    expect(state.echo.split(schema)).toHaveLength(3);
  });
});

describe('what a node signed', () => {
  const { model } = options();
  const kept = {
    calls: { call_1: { google: { thought_signature: 'sig' } } },
    details: [{ type: 'reasoning.encrypted', data: 'x' }],
  };
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] };
  const message = {
    role: 'assistant',
    content: null,
    reasoning_details: kept.details,
    tool_calls: [
      {
        id: 'call_1',
        type: 'function',
        function: { name: 'f', arguments: '{"a":1}' },
        extra_content: kept.calls.call_1,
      },
    ],
  };

  it('comes back in encrypted_content', () => {
    const item = { ...reasoning, encrypted_content: packSignatures(kept, model) };
    const { chat, dropped } = convert([user, item, call, output]);
    expect(chat.messages[1]).toEqual(message);
    expect(dropped).toEqual([]);
  });

  it('is carried without the reasoning if the node takes none', () => {
    const encrypted_content = packSignatures({ calls: { call_1: { a: 1 } } }, model);
    const texts = { content: [{ type: 'reasoning_text', text: 'hm' }] };
    const { dropped } = convert([user, { ...reasoning, ...texts, encrypted_content }, call, output]);
    expect(dropped).toEqual(['input[1].content']);
  });

  it('of a call that is not there is a hint', () => {
    const encrypted_content = packSignatures({ calls: { call_1: { a: 1 }, call_2: {} } }, model);
    const { dropped, lossy } = convert([user, { ...reasoning, encrypted_content }, call, output]);
    expect(dropped).toContain('input[1].encrypted_content');
    expect(lossy).toBe(false);
  });

  it.each([
    ['of another model', packSignatures(kept, 'other')],
    ["of OpenAI's", 'gAAAAABpYw-_'],
  ])('%s is a hint', (_, encrypted_content) => {
    const { chat, dropped, lossy } = convert([user, { ...reasoning, encrypted_content }, call, output]);
    expect(chat.messages[1]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
    });
    expect(dropped[0]).toMatch(/^input\[1\]/);
    expect(lossy).toBe(false);
  });
});
