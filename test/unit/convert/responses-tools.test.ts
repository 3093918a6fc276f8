import { describe, expect, it } from 'vitest';
import { chatOf, convert, dialectWith, type Json, refusalOf } from './responses-fixtures.ts';

const schema = { type: 'object', properties: { a: { type: 'string' } } };
const f = { type: 'function', name: 'f', description: 'does f', parameters: schema };
const g = { type: 'function', name: 'g', parameters: null };
const patch = { type: 'custom', name: 'apply_patch', description: 'patches' };
const box = {
  type: 'namespace',
  name: 'ns',
  description: 'a box',
  tools: [f, { type: 'custom', name: 'c' }],
};
const search = { type: 'web_search' };

const none = { type: 'object', properties: {} };
const chatF = { type: 'function', function: { name: 'f', description: 'does f', parameters: schema } };
const chatG = { type: 'function', function: { name: 'g', parameters: none } };

function toolsOf(body: Json, parallelToolCalls = true): Json {
  const { tools, tool_choice, parallel_tool_calls } = chatOf(body, dialectWith({ parallelToolCalls }));
  return JSON.parse(JSON.stringify({ tools, tool_choice, parallel_tool_calls }));
}

function named(body: Json): unknown {
  const tools = toolsOf(body)['tools'];
  return Array.isArray(tools) ? tools.map((tool) => tool.function.name) : tools;
}

describe('tools of a Responses request', () => {
  const rows: readonly [name: string, tools: readonly unknown[], chat: Json, dropped?: readonly string[]][] =
    [
      ['function', [f], { tools: [chatF] }],
      ['function without parameters', [g], { tools: [chatG] }],
      [
        'strict true',
        [{ ...g, strict: true }],
        { tools: [{ type: 'function', function: { ...chatG.function, strict: true } }] },
      ],
      ['strict false', [{ ...g, strict: false }], { tools: [chatG] }],
      ['strict null', [{ ...g, strict: null }], { tools: [chatG] }],
      [
        'hosted tools go',
        [search, f, { type: 'mcp', server_label: 'x' }],
        { tools: [chatF] },
        ['tools[0]', 'tools[2]'],
      ],
      ['none left', [search], {}, ['tools[0]']],
      ['none at all', [], {}],
      [
        'a field of its own is not merged into the schema',
        [{ ...g, defer_loading: true, cache: 1 }],
        { tools: [chatG] },
        ['tools[0].cache', 'tools[0].defer_loading'],
      ],
    ];

  it.each(rows)('%s', (_name, tools, chat, dropped = []) => {
    expect(toolsOf({ tools })).toEqual(chat);
    expect(convert({ model: 'm', input: 'hi', tools }).dropped).toEqual(dropped);
  });

  it.each([
    'web_search',
    'web_search_preview',
    'web_search_2025_08_26',
    'file_search',
    'code_interpreter',
    'image_generation',
    'mcp',
    'computer_use_preview',
    'computer',
    'local_shell',
    'shell',
    'apply_patch',
    'tool_search',
    'programmatic_tool_calling',
  ])('%s is dropped, and refused where it is forced', (type) => {
    expect(named({ tools: [{ type }, f] })).toEqual(['f']);
    const error = refusalOf(() => chatOf({ tools: [{ type }, f], tool_choice: { type } }));
    expect([error.code, error.param]).toEqual(['unsupported_value', 'tool_choice']);
  });

  it('custom: a function of one text', () => {
    expect(toolsOf({ tools: [patch] })['tools']).toEqual([
      {
        type: 'function',
        function: {
          name: 'apply_patch',
          description: 'patches',
          parameters: {
            type: 'object',
            properties: { input: { type: 'string', description: expect.any(String) } },
            required: ['input'],
            additionalProperties: false,
          },
        },
      },
    ]);
  });

  it('custom with a grammar: told to the model, and named because nobody enforces it', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' };
    const converted = convert({ model: 'm', input: 'hi', tools: [{ ...patch, format }] });
    expect(JSON.stringify(converted.chat.tools)).toContain('lark grammar:\\nstart: \\"x\\"');
    expect(converted.dropped).toEqual(['tools[0].format']);
    expect(
      convert({ model: 'm', input: 'hi', tools: [{ ...patch, format: { type: 'text' } }] }).dropped,
    ).toEqual([]);
  });

  it('namespace: one function per member, under a name that leads back', () => {
    const { chat, state } = convert({ model: 'm', input: 'hi', tools: [box] });
    const names = (chat.tools ?? []).map((tool) => tool.function.name);
    expect(names).toEqual(['ns__f', 'ns__c']);
    expect(names.map((name) => state.names.origin(name))).toEqual([
      { name: 'f', namespace: 'ns' },
      { name: 'c', namespace: 'ns', custom: true },
    ]);
  });

  it('namespace: names that would meet or are too long are kept apart and lead back', () => {
    const long = 'm'.repeat(80);
    const tools = [
      { type: 'function', name: 'a__b' },
      { type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b' }] },
      {
        type: 'namespace',
        name: 'n',
        tools: [
          { type: 'function', name: long },
          { type: 'function', name: `${long}x` },
        ],
      },
      { type: 'function', name: 'ünïcode' },
    ];
    const { chat, state } = convert({ model: 'm', input: 'hi', tools });
    const names = (chat.tools ?? []).map((tool) => tool.function.name);
    expect(new Set(names).size).toBe(5);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(names.map((name) => state.names.origin(name))).toEqual([
      { name: 'a__b' },
      { name: 'b', namespace: 'a' },
      { name: long, namespace: 'n' },
      { name: `${long}x`, namespace: 'n' },
      { name: 'ünïcode' },
    ]);
  });

  it('a hosted member of a namespace is named', () => {
    const tools = [{ type: 'namespace', name: 'n', tools: [{ type: 'tool_search' }, f] }];
    expect(convert({ model: 'm', input: 'hi', tools }).dropped).toEqual(['tools[0].tools[0]']);
  });

  it.each<[string, unknown, string, string]>([
    ['no object', 'f', 'invalid_type', 'tools[0]'],
    ['no type', { name: 'f' }, 'missing_required_parameter', 'tools[0].type'],
    ['no name', { type: 'function' }, 'missing_required_parameter', 'tools[0].name'],
    [
      'the shape of chat-completions',
      { type: 'function', function: { name: 'f' } },
      'missing_required_parameter',
      'tools[0].name',
    ],
    ['an empty name', { ...f, name: '' }, 'invalid_value', 'tools[0].name'],
    ['odd parameters', { ...f, parameters: 'x' }, 'invalid_type', 'tools[0].parameters'],
    ['odd strict', { ...f, strict: 'x' }, 'invalid_type', 'tools[0].strict'],
    ['odd description', { ...f, description: 1 }, 'invalid_type', 'tools[0].description'],
    [
      'namespace without tools',
      { type: 'namespace', name: 'n' },
      'missing_required_parameter',
      'tools[0].tools',
    ],
    ['odd member', { type: 'namespace', name: 'n', tools: [1] }, 'invalid_type', 'tools[0].tools[0]'],
  ])('refused: %s', (_name, tool, code, param) => {
    const error = refusalOf(() => chatOf({ tools: [tool] }));
    expect([error.status, error.code, error.param]).toEqual([400, code, param]);
  });
});

describe('tool_choice of a Responses request', () => {
  const force = (name: string) => ({ type: 'function', function: { name } });
  it.each<[string, unknown, unknown]>([
    ['auto', 'auto', 'auto'],
    ['none', 'none', 'none'],
    ['required', 'required', 'required'],
    ['null', null, undefined],
    ['auto as an object', { type: 'auto' }, 'auto'],
    ['none as an object', { type: 'none' }, 'none'],
    ['required as an object', { type: 'required' }, 'required'],
    ['any as an object', { type: 'any' }, 'required'],
    ['a function', { type: 'function', name: 'f' }, force('f')],
    ['a custom tool', { type: 'custom', name: 'apply_patch' }, force('apply_patch')],
    ['a member of a namespace', { type: 'function', name: 'inner', namespace: 'ns' }, force('ns__inner')],
    ['a member whose namespace goes without saying', { type: 'function', name: 'inner' }, force('ns__inner')],
  ])('%s', (_name, tool_choice, expected) => {
    const tools = [f, patch, { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'inner' }] }];
    const fields = toolsOf({ tools, tool_choice });
    expect(fields['tool_choice']).toEqual(expected);
    expect(fields['tools']).toHaveLength(3);
  });

  it.each<[string, unknown, readonly string[], string]>([
    ['auto', { mode: 'auto', tools: [{ type: 'function', name: 'g' }] }, ['g'], 'auto'],
    [
      'required',
      {
        mode: 'required',
        tools: [
          { type: 'function', name: 'g' },
          { type: 'custom', name: 'apply_patch' },
        ],
      },
      ['g', 'apply_patch'],
      'required',
    ],
    [
      'with a hosted one',
      {
        mode: 'auto',
        tools: [
          { type: 'mcp', server_label: 'x' },
          { type: 'function', name: 'f' },
        ],
      },
      ['f'],
      'auto',
    ],
    ['a namespace', { mode: 'auto', tools: [{ type: 'namespace', name: 'ns' }] }, ['ns__f', 'ns__c'], 'auto'],
  ])('allowed_tools, %s: only those are sent', (_name, choice, names, mode) => {
    const body = { tools: [f, g, patch, box], tool_choice: { type: 'allowed_tools', ...Object(choice) } };
    expect(named(body)).toEqual(names);
    expect(toolsOf(body)['tool_choice']).toBe(mode);
  });

  it('allowed_tools of hosted tools alone: no tools', () => {
    const tool_choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] };
    expect(toolsOf({ tools: [f, search], tool_choice })).toEqual({});
  });

  it.each<[string, Json, string, string]>([
    [
      'an unknown tool',
      { tools: [f], tool_choice: { type: 'function', name: 'x' } },
      'invalid_value',
      'tool_choice',
    ],
    [
      'without a name',
      { tools: [f], tool_choice: { type: 'function' } },
      'missing_required_parameter',
      'tool_choice.name',
    ],
    ['without a type', { tools: [f], tool_choice: {} }, 'missing_required_parameter', 'tool_choice.type'],
    ['of a wrong type', { tools: [f], tool_choice: 3 }, 'invalid_type', 'tool_choice'],
    ['required without tools', { tool_choice: 'required' }, 'invalid_value', 'tool_choice'],
    [
      'required with hosted tools alone',
      { tools: [search], tool_choice: 'required' },
      'unsupported_value',
      'tool_choice',
    ],
    [
      'allowed_tools of an odd mode',
      { tools: [f], tool_choice: { type: 'allowed_tools', mode: 'x', tools: [] } },
      'invalid_value',
      'tool_choice.mode',
    ],
    [
      'allowed_tools without tools',
      { tools: [f], tool_choice: { type: 'allowed_tools', mode: 'auto' } },
      'missing_required_parameter',
      'tool_choice.tools',
    ],
    [
      'allowed_tools, an unknown one',
      {
        tools: [f],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'x' }] },
      },
      'invalid_value',
      'tool_choice.tools[0]',
    ],
    [
      'allowed_tools, required, hosted',
      { tools: [f, search], tool_choice: { type: 'allowed_tools', mode: 'required', tools: [search] } },
      'unsupported_value',
      'tool_choice.tools',
    ],
  ])('refused: %s', (_name, body, code, param) => {
    const error = refusalOf(() => chatOf(body));
    expect([error.status, error.code, error.param]).toEqual([400, code, param]);
  });

  it('parallel_tool_calls goes with the tools, where the node takes it', () => {
    expect(toolsOf({ tools: [f], parallel_tool_calls: false })['parallel_tool_calls']).toBe(false);
    expect(toolsOf({ tools: [f], parallel_tool_calls: true })['parallel_tool_calls']).toBe(true);
    expect(toolsOf({ tools: [f] })).not.toHaveProperty('parallel_tool_calls');
    expect(toolsOf({ parallel_tool_calls: false })).toEqual({});
    expect(toolsOf({ tools: [f], parallel_tool_calls: false }, false)).not.toHaveProperty(
      'parallel_tool_calls',
    );
    const without = dialectWith({ parallelToolCalls: false });
    const dropped = (parallel_tool_calls: boolean) =>
      convert({ model: 'm', input: 'hi', tools: [f], parallel_tool_calls }, without).dropped;
    expect(dropped(false)).toEqual(['parallel_tool_calls']);
    expect(dropped(true)).toEqual([]);
  });
});
