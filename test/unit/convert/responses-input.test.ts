import { describe, expect, it } from 'vitest';
import type { DialectWish } from '../../../src/convert/dialect.ts';
import { responsesRefusal } from '../../../src/convert/responses-errors.ts';
import { computedMs } from '../../support/computed.ts';
import { checkChatRequest } from '../../wire/grammar/chat-request.ts';
import { convert, dialectWith, type Json, messagesOf, refusalOf } from './responses-fixtures.ts';

const hi = { role: 'user', content: 'hi' };
const png = 'data:image/png;base64,AAAA';
const image = { type: 'image_url', image_url: { url: png } };

function call(id: string, name = 'f', args = '{}'): Json {
  return { type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: args, status: 'completed' };
}

function output(id: string, text: unknown = `result of ${id}`): Json {
  return { type: 'function_call_output', call_id: id, output: text };
}

function chatCall(id: string, name = 'f', args = '{}') {
  return { id, type: 'function', function: { name, arguments: args } };
}

function calls(...ids: readonly string[]) {
  return { role: 'assistant', content: null, tool_calls: ids.map((id) => chatCall(id)) };
}

function result(id: string, content: unknown = `result of ${id}`) {
  return { role: 'tool', tool_call_id: id, content };
}

function parts(role: string, ...content: readonly unknown[]): Json {
  return { type: 'message', role, content };
}

function text(value: string, type = 'input_text') {
  return { type, text: value };
}

type Row = readonly [
  name: string,
  items: readonly unknown[],
  messages: readonly unknown[],
  dialect?: DialectWish,
];

const messages: readonly Row[] = [
  ['a message without a type', [hi], [hi]],
  [
    'user text parts are one text',
    [parts('user', text('a'), text('b'))],
    [{ role: 'user', content: 'a\nb' }],
  ],
  [
    'images keep their place',
    [parts('user', text('a'), { type: 'input_image', image_url: png }, text('b'))],
    [{ role: 'user', content: [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }] }],
  ],
  [
    'an empty text beside an image goes',
    [parts('user', text(''), { type: 'input_image', image_url: png, detail: null, file_id: null })],
    [{ role: 'user', content: [image] }],
  ],
  ...(['auto', 'low', 'high'] as const).map(
    (detail): Row => [
      `image detail ${detail}`,
      [parts('user', { type: 'input_image', image_url: png, detail })],
      [{ role: 'user', content: [{ type: 'image_url', image_url: { url: png, detail } }] }],
    ],
  ),
  [
    'image detail original is high',
    [parts('user', { type: 'input_image', image_url: png, detail: 'original' })],
    [{ role: 'user', content: [{ type: 'image_url', image_url: { url: png, detail: 'high' } }] }],
  ],
  [
    'files where the node takes them',
    [
      parts(
        'user',
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:x' },
        { type: 'input_file', file_data: 'y' },
      ),
    ],
    [
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:x' } },
          { type: 'file', file: { filename: 'file', file_data: 'y' } },
        ],
      },
    ],
    { files: true },
  ],
  [
    'audio',
    [parts('user', { type: 'input_audio', input_audio: { data: 'x', format: 'mp3' } })],
    [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'x', format: 'mp3' } }] }],
  ],
  [
    'system and developer in their places',
    [parts('system', text('a'), text('b')), hi, { role: 'developer', content: 'c' }],
    [{ role: 'system', content: 'a\nb' }, hi, { role: 'system', content: 'c' }],
  ],
  [
    'developer where the node knows it',
    [{ role: 'system', content: 'a' }, { role: 'developer', content: 'c' }, hi],
    [{ role: 'system', content: 'a' }, { role: 'developer', content: 'c' }, hi],
    { developerRole: true },
  ],
  [
    'assistant parts joined, everything else of it dropped',
    [
      hi,
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        phase: 'final',
        role: 'assistant',
        content: [
          { ...text('a', 'output_text'), annotations: [{ type: 'url_citation' }], logprobs: [] },
          text('b', 'text'),
        ],
      },
    ],
    [hi, { role: 'assistant', content: 'ab' }],
  ],
  ['assistant without content is left out', [hi, parts('assistant'), parts('assistant', text(''))], [hi]],
  [
    'assistant as a string',
    [hi, { role: 'assistant', content: 'x' }],
    [hi, { role: 'assistant', content: 'x' }],
  ],
  [
    'a refusal is text',
    [hi, parts('assistant', { type: 'refusal', refusal: 'no' })],
    [hi, { role: 'assistant', content: 'no' }],
  ],
  [
    'a refusal at OpenAI',
    [hi, parts('assistant', { type: 'refusal', refusal: 'no' })],
    [hi, { role: 'assistant', content: null, refusal: 'no' }],
    { openAIExtras: true },
  ],
];

const turns: readonly Row[] = [
  ['call and output', [hi, call('a'), output('a')], [hi, calls('a'), result('a')]],
  [
    'arguments as they are',
    [call('a', 'f', '{"x": 1}'), output('a')],
    [{ ...calls(), tool_calls: [chatCall('a', 'f', '{"x": 1}')] }, result('a')],
  ],
  ['no arguments', [call('a', 'f', ''), output('a')], [calls('a'), result('a')]],
  [
    'neighbouring calls and the message before them are one message',
    [hi, parts('assistant', text('so')), call('a'), call('b'), output('a'), output('b')],
    [hi, { ...calls('a', 'b'), content: 'so' }, result('a'), result('b')],
  ],
  [
    'results in the order of the calls',
    [call('a'), call('b'), output('b'), output('a')],
    [calls('a', 'b'), result('a'), result('b')],
  ],
  [
    'calls one after the other are turns of their own',
    [call('a'), output('a'), call('b'), output('b')],
    [calls('a'), result('a'), calls('b'), result('b')],
  ],
  [
    'two assistant messages stay two',
    [hi, { role: 'assistant', content: 'a' }, { role: 'assistant', content: 'b' }],
    [hi, { role: 'assistant', content: 'a' }, { role: 'assistant', content: 'b' }],
  ],
  [
    'an assistant message between a call and its output goes before the call',
    [call('a'), parts('assistant', text('so')), output('a'), hi],
    [{ ...calls('a'), content: 'so' }, result('a'), hi],
  ],
  [
    'an assistant message behind the outputs is its own',
    [call('a'), output('a'), parts('assistant', text('so'))],
    [calls('a'), result('a'), { role: 'assistant', content: 'so' }],
  ],
  [
    'a user message between a call and its output goes behind the output',
    [call('a'), hi, output('a'), call('b'), output('b')],
    [calls('a'), result('a'), hi, calls('b'), result('b')],
  ],
  [
    'a call between the outputs of others joins them',
    [call('a'), call('b'), output('a'), call('c'), output('c'), output('b')],
    [calls('a', 'b', 'c'), result('a'), result('b'), result('c')],
  ],
  ['a call without output is left to the node', [call('a'), hi], [calls('a'), hi]],
  [
    'an assistant message behind a call that nobody answers is its own',
    [call('a'), { role: 'assistant', content: 'so' }, hi],
    [calls('a'), { role: 'assistant', content: 'so' }, hi],
  ],
  [
    'ids that a node repeats in every turn',
    [call('a'), output('a', '1'), hi, call('a'), output('a', '2')],
    [calls('a'), result('a', '1'), hi, calls('a'), result('a', '2')],
  ],
  ['output of texts', [call('a'), output('a', [text('x'), text('y')])], [calls('a'), result('a', 'x\ny')]],
  ['output of nothing', [call('a'), output('a', [])], [calls('a'), result('a', '')]],
  [
    'images of outputs follow the last result of the group',
    [
      call('a'),
      call('b'),
      output('a', [text('x'), { type: 'input_image', image_url: png }]),
      output('b'),
      hi,
    ],
    [
      calls('a', 'b'),
      result('a', 'x'),
      result('b'),
      { role: 'user', content: [{ type: 'text', text: expect.stringContaining('a') }, image] },
      hi,
    ],
  ],
  [
    'images of outputs inline',
    [call('a'), output('a', [text('x'), { type: 'input_image', image_url: png }])],
    [calls('a'), result('a', [{ type: 'text', text: 'x' }, image])],
    { toolImages: 'Inline' },
  ],
  [
    'custom calls',
    [
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'a', name: 'p', input: 'say "x"\n' },
      { type: 'custom_tool_call_output', id: 'ctco_1', call_id: 'a', output: 'done' },
    ],
    [{ ...calls(), tool_calls: [chatCall('a', 'p', '{"input":"say \\"x\\"\\n"}')] }, result('a', 'done')],
  ],
  [
    'namespaces',
    [{ ...call('a'), namespace: 'ns' }, output('a')],
    [{ ...calls(), tool_calls: [chatCall('a', 'ns__f')] }, result('a')],
  ],
];

const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [],
  content: [text('hm', 'reasoning_text')],
  encrypted_content: null,
};
const summary = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [text('a', 'summary_text'), text('b', 'summary_text')],
};
const wanted: DialectWish = { reasoningHistoryField: 'ReasoningContent' };

const reasoning: readonly Row[] = [
  ['dropped', [hi, thought, call('a'), output('a')], [hi, calls('a'), result('a')]],
  [
    'on the call that follows',
    [hi, thought, call('a'), output('a')],
    [hi, { ...calls('a'), reasoning_content: 'hm' }, result('a')],
    wanted,
  ],
  [
    'in the other field',
    [hi, thought, { role: 'assistant', content: 'x' }],
    [hi, { role: 'assistant', content: 'x', reasoning: 'hm' }],
    { reasoningHistoryField: 'Reasoning' },
  ],
  [
    'of a summary',
    [hi, summary, { role: 'assistant', content: 'x' }],
    [hi, { role: 'assistant', content: 'x', reasoning_content: 'a\nb' }],
    wanted,
  ],
  [
    'before text and call, and between them',
    [thought, { role: 'assistant', content: 'x' }, thought, call('a'), output('a')],
    [{ ...calls('a'), content: 'x', reasoning_content: 'hm\nhm' }, result('a')],
    wanted,
  ],
  [
    'of every turn',
    [thought, call('a'), output('a'), thought, call('b'), output('b')],
    [
      { ...calls('a'), reasoning_content: 'hm' },
      result('a'),
      { ...calls('b'), reasoning_content: 'hm' },
      result('b'),
    ],
    wanted,
  ],
  [
    'of a turn that was broken off',
    [thought, hi, { role: 'assistant', content: 'x' }],
    [hi, { role: 'assistant', content: 'x' }],
    wanted,
  ],
  [
    'encrypted alone',
    [
      hi,
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      { role: 'assistant', content: 'x' },
    ],
    [hi, { role: 'assistant', content: 'x' }],
    wanted,
  ],
];

describe('input items of a Responses request', () => {
  const tables = { message: messages, turn: turns, reasoning };
  const rows = Object.entries(tables).flatMap(([group, table]) =>
    table.map(([name, items, expected, dialect = {}]) => ({ group, name, items, expected, dialect })),
  );
  it.each(rows)('$group: $name', ({ items, expected, dialect }) => {
    expect(messagesOf(items, dialectWith(dialect))).toEqual(expected);
  });

  it('reasoning that is not sent is a hint, not a loss', () => {
    const { dropped, lossy } = convert({
      model: 'm',
      input: [hi, thought, { role: 'assistant', content: 'x' }],
    });
    expect([dropped, lossy]).toEqual([['input[1]'], false]);
  });

  it.each([
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'image_generation_call',
    'mcp_list_tools',
    'mcp_call',
    'tool_search_call',
    'tool_search_output',
    'additional_tools',
    'configuration_update',
    'program',
    'program_output',
  ])('%s is dropped and named', (type) => {
    const { chat, dropped } = convert({ model: 'm', input: [{ type, id: 'x' }, hi] });
    expect(chat.messages).toEqual([hi]);
    expect(dropped).toEqual(['input[0]']);
  });

  it.each([
    'local_shell_call',
    'local_shell_call_output',
    'shell_call',
    'shell_call_output',
    'apply_patch_call',
    'apply_patch_call_output',
    'computer_call',
    'computer_call_output',
    'mcp_approval_request',
    'mcp_approval_response',
    'compaction',
    'compaction_trigger',
  ])('%s is refused', (type) => {
    const error = refusalOf(() => messagesOf([hi, { type, id: 'x' }]));
    expect([error.status, error.code, error.param]).toEqual([400, 'unsupported_value', 'input[1].type']);
  });

  it.each<[string, unknown, string, string]>([
    ['a type nobody knows', { type: 'x' }, 'invalid_value', 'input[0].type'],
    ['a type of a wrong type', { type: 3 }, 'invalid_type', 'input[0].type'],
    ['nothing in it', {}, 'missing_required_parameter', 'input[0].type'],
    ['no role', { type: 'message', content: 'x' }, 'missing_required_parameter', 'input[0].role'],
    ['no content', { role: 'user' }, 'missing_required_parameter', 'input[0].content'],
    ['a role nobody knows', { role: 'tool', content: 'x' }, 'invalid_value', 'input[0].role'],
    ['content of a wrong type', { role: 'user', content: 3 }, 'invalid_type', 'input[0].content'],
    ['an odd part', parts('user', 'x'), 'invalid_type', 'input[0].content[0]'],
    ['a part without a type', parts('user', {}), 'missing_required_parameter', 'input[0].content[0].type'],
    ['a part nobody knows', parts('user', { type: 'x' }), 'invalid_value', 'input[0].content[0].type'],
    [
      'text without text',
      parts('user', { type: 'input_text' }),
      'missing_required_parameter',
      'input[0].content[0].text',
    ],
    [
      'text of a wrong type',
      parts('user', { type: 'input_text', text: 1 }),
      'invalid_type',
      'input[0].content[0].text',
    ],
    [
      'an image of nothing',
      parts('user', { type: 'input_image' }),
      'missing_required_parameter',
      'input[0].content[0].image_url',
    ],
    [
      'an image of a file',
      parts('user', { type: 'input_image', file_id: 'file_1' }),
      'unsupported_value',
      'input[0].content[0].file_id',
    ],
    [
      'an odd detail',
      parts('user', { type: 'input_image', image_url: png, detail: 'x' }),
      'invalid_value',
      'input[0].content[0].detail',
    ],
    [
      'a stored file',
      parts('user', { type: 'input_file', file_id: 'file_1' }),
      'unsupported_value',
      'input[0].content[0].file_id',
    ],
    [
      'a file elsewhere',
      parts('user', { type: 'input_file', file_url: 'https://x' }),
      'unsupported_value',
      'input[0].content[0].file_url',
    ],
    [
      'a file of nothing',
      parts('user', { type: 'input_file' }),
      'missing_required_parameter',
      'input[0].content[0].file_data',
    ],
    [
      'a file for a node that takes none',
      parts('user', { type: 'input_file', file_data: 'x' }),
      'unsupported_value',
      'input[0].content[0].type',
    ],
    [
      'audio of nothing',
      parts('user', { type: 'input_audio' }),
      'missing_required_parameter',
      'input[0].content[0].input_audio',
    ],
    [
      'an image of the system',
      parts('system', { type: 'input_image', image_url: png }),
      'invalid_value',
      'input[0].content[0].type',
    ],
    [
      'an image of the assistant',
      parts('assistant', { type: 'input_image', image_url: png }),
      'invalid_value',
      'input[0].content[0].type',
    ],
    [
      'a call without an id',
      { type: 'function_call', name: 'f', arguments: '{}' },
      'missing_required_parameter',
      'input[0].call_id',
    ],
    [
      'a call without a name',
      { type: 'function_call', call_id: 'a', arguments: '{}' },
      'missing_required_parameter',
      'input[0].name',
    ],
    [
      'a call without arguments',
      { type: 'function_call', call_id: 'a', name: 'f' },
      'missing_required_parameter',
      'input[0].arguments',
    ],
    [
      'arguments of a wrong type',
      { type: 'function_call', call_id: 'a', name: 'f', arguments: {} },
      'invalid_type',
      'input[0].arguments',
    ],
    [
      'a custom call without input',
      { type: 'custom_tool_call', call_id: 'a', name: 'f' },
      'missing_required_parameter',
      'input[0].input',
    ],
    ['an output without its call', output('a'), 'invalid_value', 'input'],
    ['reasoning of a wrong type', { type: 'reasoning', summary: 'x' }, 'invalid_type', 'input[0].summary'],
  ])('refused: %s', (_name, item, code, param) => {
    const error = refusalOf(() => messagesOf([item, hi]));
    expect([error.status, error.code, error.param]).toEqual([400, code, param]);
  });

  it.each<[string, readonly unknown[], string]>([
    ['a second output', [call('a'), output('a'), output('a')], 'input'],
    ['an output before its call', [output('a'), call('a')], 'input'],
    [
      'an output without content',
      [call('a'), { type: 'function_call_output', call_id: 'a' }],
      'input[1].output',
    ],
    ['an output of a wrong type', [call('a'), output('a', { a: 1 })], 'input[1].output'],
    ['an odd part of an output', [call('a'), output('a', [{ type: 'x' }])], 'input[1].output[0].type'],
  ])('refused: %s', (_name, items, param) => {
    expect(refusalOf(() => messagesOf(items)).param).toBe(param);
  });

  it.each([{ type: 'item_reference', id: 'msg_1' }, { id: 'msg_1' }, { type: null, id: 'msg_1' }])(
    'a reference is not found: %j',
    (item) => {
      expect(responsesRefusal(refusalOf(() => messagesOf([hi, item])))).toEqual({
        status: 404,
        body: {
          error: {
            message: "Item with id 'msg_1' not found. Items are not persisted when store is set to false.",
            type: 'invalid_request_error',
            param: 'input',
            code: null,
          },
        },
      });
    },
  );

  it('takes a second of thousands of items at most', () => {
    const items = Array.from({ length: 20_000 }, (_, index) => [
      call('same'),
      output('same', `${index}`),
      hi,
    ]).flat();
    const begin = computedMs();
    expect(messagesOf(items)).toHaveLength(60_000);
    const open = [
      ...Array.from({ length: 30_000 }, () => call('same')),
      ...Array.from({ length: 30_000 }, () => output('same')),
    ];
    expect(messagesOf(open)).toHaveLength(30_001);
    expect(computedMs() - begin).toBeLessThan(5_000);
  });
});

/** A turn of Codex CLI: what it declares, what it replays, what it always sends. */
const codex = {
  model: 'gpt-6-codex',
  instructions: 'You are Codex.',
  input: [
    { type: 'message', id: 'msg_u0', role: 'developer', content: [text('<permissions>')] },
    { type: 'message', role: 'user', content: [text('<environment_context>'), text('read a file')] },
    { ...thought, content: [text('I should read it.', 'reasoning_text')] },
    { type: 'message', role: 'assistant', content: [text('Reading.', 'output_text')] },
    {
      type: 'function_call',
      name: 'exec',
      namespace: 'shell',
      arguments: '{"cmd":"cat a"}',
      call_id: 'call_1',
    },
    {
      type: 'custom_tool_call',
      name: 'apply_patch',
      input: '*** Begin Patch',
      call_id: 'call_2',
      status: 'completed',
    },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'ok' },
    { type: 'function_call_output', call_id: 'call_1', output: 'contents' },
    { type: 'message', role: 'user', content: [text('go on')] },
  ],
  tools: [
    {
      type: 'namespace',
      name: 'shell',
      description: 'Runs commands',
      tools: [
        { type: 'function', name: 'exec', strict: false, parameters: { type: 'object', properties: {} } },
      ],
    },
    { type: 'web_search', external_web_access: false },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: x' },
    },
    { type: 'function', name: 'update_plan', strict: false, parameters: { type: 'object', properties: {} } },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '0199',
  text: { verbosity: 'medium' },
  client_metadata: { session: 'x' },
};

describe('a request of Codex', () => {
  const dialect = dialectWith({ reasoningHistoryField: 'ReasoningContent' });
  const { chat, dropped, state } = convert(codex, dialect);

  it('becomes one that a strict server takes', () => {
    checkChatRequest(chat);
    expect(chat.messages).toEqual([
      { role: 'system', content: 'You are Codex.' },
      { role: 'system', content: '<permissions>' },
      { role: 'user', content: '<environment_context>\nread a file' },
      {
        role: 'assistant',
        content: 'Reading.',
        reasoning_content: 'I should read it.',
        tool_calls: [
          chatCall('call_1', 'shell__exec', '{"cmd":"cat a"}'),
          chatCall('call_2', 'apply_patch', '{"input":"*** Begin Patch"}'),
        ],
      },
      result('call_1', 'contents'),
      result('call_2', 'ok'),
      { role: 'user', content: 'go on' },
    ]);
    expect(chat.tools?.map((tool) => tool.function.name)).toEqual([
      'shell__exec',
      'apply_patch',
      'update_plan',
    ]);
    expect(chat).toMatchObject({
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning_effort: 'medium',
    });
    expect(JSON.stringify(chat)).not.toContain('strict');
  });

  it('names what is left out', () => {
    expect(dropped.toSorted()).toEqual([
      'client_metadata',
      'prompt_cache_key',
      'tools[0].description',
      'tools[1]',
      'tools[2].format',
    ]);
  });

  it('is repeated in the response', () => {
    expect(JSON.parse(`{${state.echo}}`)).toMatchObject({
      model: 'gpt-6-codex',
      store: false,
      parallel_tool_calls: false,
    });
    expect(state.summarized).toBe(true);
  });
});
