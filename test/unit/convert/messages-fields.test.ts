import { describe, expect, it } from 'vitest';
import { packSignatures } from '../../../src/convert/kept-signatures.ts';
import { parseAsWritten } from '../../../src/convert/written-numbers.ts';
import { convert, request, turns } from './messages-fixtures.ts';

const efforts = { reasoningEfforts: ['low', 'medium', 'high'] } as const;
const use = (more: object = {}) => ({ type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 }, ...more });
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'r' };
const called = (content: readonly object[]) => [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content },
  { role: 'user', content: [result] },
];

describe('a member that no code reads', () => {
  const place = 'messages[1].content[0]';
  it.each([
    ['of the request', { foo: 1 }, 'foo'],
    ['of metadata', { metadata: { foo: 1 } }, 'metadata.foo'],
    ['of thinking', { thinking: { type: 'adaptive', foo: 1 } }, 'thinking.foo'],
    ['of the output', { output_config: { foo: 1 } }, 'output_config.foo'],
    ['of a system text', { system: [{ type: 'text', text: 'a', foo: 1 }] }, 'system[0].foo'],
    ['of a message', { messages: [{ role: 'user', content: 'a', foo: 1 }] }, 'messages[0].foo'],
    ['of a tool', { tools: [{ name: 'f', input_schema: {}, foo: 1 }] }, 'tools[0].foo'],
    ['of a built-in tool', { tools: [{ type: 'bash_20250124', name: 'bash', foo: 1 }] }, 'tools[0].foo'],
    ['of a call', { messages: called([use({ foo: 1 })]) }, `${place}.foo`],
    [
      "of a call's caller",
      { messages: called([use({ caller: { type: 'direct', foo: 1 } })]) },
      `${place}.caller.foo`,
    ],
    [
      'of a text in a tool result',
      {
        messages: [
          { role: 'assistant', content: [use()] },
          { role: 'user', content: [{ ...result, content: [{ type: 'text', text: 'a', foo: 1 }] }] },
        ],
      },
      'messages[1].content[0].content[0].foo',
    ],
  ])('%s is named and a loss', (_, fields, path) => {
    expect(convert(fields)).toMatchObject({ dropped: [path], lossy: true });
  });

  it('is not asked for by null, false or nothing in it', () => {
    const fields = { a: null, b: false, c: [], d: {}, thinking: { type: 'adaptive', e: null } };
    expect(convert(fields)).toMatchObject({ dropped: [], lossy: false });
  });
});

describe('a messages request', () => {
  it('prefers the effort to the budget', () => {
    const thinking = { type: 'enabled', budget_tokens: 2_000 };
    const { chat, dropped } = convert({ thinking, output_config: { effort: 'high' } }, efforts);
    expect(chat.reasoning_effort).toBe('high');
    expect(dropped).toEqual(['thinking.budget_tokens']);
  });

  it('names the effort that goes with the thinking that is switched off', () => {
    const fields = { thinking: { type: 'disabled' }, output_config: { effort: 'high' } };
    expect(convert(fields, efforts)).toMatchObject({
      dropped: ['output_config.effort', 'thinking'],
      lossy: true,
    });
  });

  it('names the older format beside the newer one', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } };
    const fields = { output_config: { format }, output_format: { ...format, schema: {} } };
    expect(convert(fields)).toMatchObject({ dropped: ['output_format'], lossy: true });
  });

  it('sends the stop sequences that the node takes and names the others', () => {
    const stop_sequences = ['a', 'b', 'c', 'd', 'e'];
    expect(convert({ stop_sequences }).chat.stop).toEqual(stop_sequences);
    const { chat, dropped, lossy } = convert({ stop_sequences }, {}, 'api.openai.com');
    expect({ stop: chat.stop, dropped, lossy }).toEqual({
      stop: ['a', 'b', 'c', 'd'],
      dropped: ['stop_sequences[4]'],
      lossy: true,
    });
  });

  it('takes the clearing of thinking for a hint and all other edits for losses', () => {
    const clear = { type: 'clear_thinking_20251015', keep: 'all' };
    const tools = { type: 'clear_tool_uses_20250919', trigger: { type: 'input_tokens', value: 1 } };
    const dropped = ['context_management'];
    expect(convert({ context_management: { edits: [clear] } })).toMatchObject({ dropped, lossy: false });
    expect(convert({ context_management: { edits: [clear, tools] } })).toMatchObject({
      dropped,
      lossy: true,
    });
  });

  it('shows a system message that is to be cleared until the user speaks', () => {
    const note = { role: 'system', content: 'note', clear_at: 'next_user_message' };
    const user = { role: 'user', content: 'u' };
    expect(turns([user, note])).toContainEqual({ role: 'system', content: 'note' });
    expect(turns([user, note, { role: 'assistant', content: 'a' }])).toHaveLength(3);
    expect(turns([note, user])).toEqual([user]);
  });

  it('carries the summary of a compacted conversation', () => {
    const compaction = { type: 'compaction', content: 'so far', encrypted_content: 'x', signature: 's' };
    const messages = [
      { role: 'assistant', content: [compaction] },
      { role: 'user', content: 'go on' },
    ];
    const { chat, dropped, lossy } = convert({ messages });
    expect(chat.messages[0]).toEqual({ role: 'assistant', content: 'so far' });
    expect({ dropped, lossy }).toEqual({
      dropped: ['messages[0].content[0].encrypted_content', 'messages[0].content[0].signature'],
      lossy: false,
    });
    const failed = [{ role: 'assistant', content: [{ type: 'compaction', content: null }] }, messages[1]];
    expect(convert({ messages: failed })).toMatchObject({ dropped: ['messages[0].content[0]'], lossy: true });
  });

  it.each([
    ['tool_addition', { type: 'tool_addition', tool: { type: 'tool_reference', name: 'f' } }, 'system', true],
    ['tool_removal', { type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } }, 'system', true],
    ['mcp_tool_listing', { type: 'mcp_tool_listing', mcp_server_name: 's', tools: [] }, 'assistant', true],
    ['fallback', { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } }, 'assistant', false],
  ])('names a block of type %s instead of refusing it', (_, block, role, lossy) => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role, content: [block] },
    ];
    expect(convert({ messages })).toMatchObject({ dropped: ['messages[1].content[0]'], lossy });
  });

  it('writes the numbers of schemas and inputs as they came', () => {
    const input_schema =
      '{"type":"object","properties":{"a":{"maximum":9223372036854775807,"minimum":-0,"x":[1e400,1.0]}}}';
    const input = '{"id":1234567890123456789,"b":1.50}';
    const body = JSON.stringify(
      request({ messages: called([use({ input: 0 })]), tools: [{ name: 'f', input_schema: 0 }] }),
    )
      .replace('"input":0', `"input":${input}`)
      .replace('"input_schema":0', `"input_schema":${input_schema}`);
    const sent = JSON.stringify(convert(parseAsWritten(body) as object).chat);
    expect(sent).toContain(`"parameters":${input_schema}`);
    expect(sent).toContain(JSON.stringify(input));
  });
});

describe('what a node signed', () => {
  const kept = {
    calls: { toolu_1: { google: { thought_signature: 'sig' } } },
    message: { google: { thought_signature: 'all' } },
    details: [{ type: 'reasoning.encrypted', data: 'x' }],
  };
  const text = packSignatures(kept, 'node-model') ?? '';
  const node = { reasoningHistoryField: 'ReasoningContent' } as const;
  const message = {
    role: 'assistant',
    content: null,
    reasoning_details: kept.details,
    extra_content: kept.message,
    tool_calls: [
      {
        id: 'toolu_1',
        type: 'function',
        function: { name: 'f', arguments: '{"a":1}' },
        extra_content: kept.calls.toolu_1,
      },
    ],
  };

  it.each([
    ['a thinking block', { type: 'thinking', thinking: 'hm', signature: text }],
    ['a redacted thinking block', { type: 'redacted_thinking', data: text }],
  ])('comes back in %s', (_, block) => {
    for (const wish of [{}, node]) {
      const { chat, dropped } = convert({ messages: called([block, use()]) }, wish);
      expect(chat.messages[1]).toEqual(message);
      expect(dropped).toEqual([]);
    }
  });

  it('leaves the reasoning that is not part of it', () => {
    const calls = packSignatures({ calls: kept.calls }, 'node-model');
    const block = { type: 'thinking', thinking: 'hm', signature: calls };
    const { chat, dropped } = convert({ messages: called([block, use()]) }, node);
    expect(chat.messages[1]).toMatchObject({ reasoning_content: 'hm', tool_calls: message.tool_calls });
    expect(dropped).toEqual([]);
  });

  it('is carried without the thinking if the node takes none', () => {
    const signature = packSignatures({ calls: kept.calls }, 'node-model');
    const block = { type: 'thinking', thinking: 'hm', signature };
    const { chat, dropped } = convert({ messages: called([block, use()]) });
    expect(chat.messages[1]).toEqual({ role: 'assistant', content: null, tool_calls: message.tool_calls });
    expect(dropped).toEqual(['messages[1].content[0].thinking']);
  });

  it.each([
    ['thinking', 'signature'],
    ['redacted_thinking', 'data'],
  ])('of a call that is not there is a hint in %s', (type, key) => {
    const lone = packSignatures({ calls: { ...kept.calls, toolu_2: {} } }, 'node-model');
    const block = { type, ...(type === 'thinking' ? { thinking: 'hm' } : {}), [key]: lone };
    const { chat, dropped, lossy } = convert({ messages: called([block, use()]) }, node);
    expect(chat.messages[1]).toMatchObject({ tool_calls: message.tool_calls });
    expect(dropped).toEqual([`messages[1].content[0].${key}`]);
    expect(lossy).toBe(false);
  });

  it.each([
    ['of another model', packSignatures(kept, 'other') ?? ''],
    ["of Anthropic's", 'ErUBCkYIBRgCIkDJ+/=='],
  ])('%s is a hint', (_, signature) => {
    const plain = { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
    const thinking = called([{ type: 'thinking', thinking: 'hm', signature }, use()]);
    const { chat, dropped, lossy } = convert({ messages: thinking }, node);
    expect(chat.messages[1]).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'hm',
      tool_calls: [plain],
    });
    expect({ dropped, lossy }).toEqual({ dropped: ['messages[1].content[0].signature'], lossy: false });
    const redacted = called([{ type: 'redacted_thinking', data: signature }, use()]);
    expect(convert({ messages: redacted }, node)).toMatchObject({
      dropped: ['messages[1].content[0]'],
      lossy: false,
    });
  });
});
