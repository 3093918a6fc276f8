import { describe, expect, it } from 'vitest';
import type { DialectWish } from '../../../src/convert/dialect.ts';
import { convert, turns } from './messages-fixtures.ts';

const user = (...content: unknown[]) => ({ role: 'user', content });
const assistant = (...content: unknown[]) => ({ role: 'assistant', content });
const use = (id: string, name = 'f', input: object = {}) => ({ type: 'tool_use', id, name, input });
const result = (id: string, content?: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content === undefined ? {} : { content }),
  ...more,
});
const text = (value: string) => ({ type: 'text', text: value });
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
const pngPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
const pdf = (more: object = {}) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
  ...more,
});
const chatCall = (id: string, args = '{}', name = 'f') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const called = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => chatCall(id)),
});
const toolMessage = (id: string, content: unknown) => ({ role: 'tool', tool_call_id: id, content });
const note = (id: string) => text(`Attachments of the result of tool call ${id}:`);

const rows: readonly [
  name: string,
  messages: readonly unknown[],
  chat: readonly unknown[],
  wish?: DialectWish,
][] = [
  ['user string', [{ role: 'user', content: 'hi' }], [{ role: 'user', content: 'hi' }]],
  ['texts joined to a string', [user(text('a'), text('b'))], [{ role: 'user', content: 'a\nb' }]],
  ['empty texts skipped', [user(text(''), text('b'), text(''))], [{ role: 'user', content: 'b' }]],
  ['empty message left out', [user(text('')), user(text('b'))], [{ role: 'user', content: 'b' }]],
  ['image base64', [user(text('see'), png)], [{ role: 'user', content: [text('see'), pngPart] }]],
  [
    'image url',
    [user({ type: 'image', source: { type: 'url', url: 'https://a.example/i.png' } })],
    [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/i.png' } }] }],
  ],
  [
    'document text',
    [
      user({
        type: 'document',
        title: 'T',
        context: 'C',
        source: { type: 'text', media_type: 'text/plain', data: 'D' },
      }),
    ],
    [{ role: 'user', content: 'T\nC\nD' }],
  ],
  [
    'document content',
    [user({ type: 'document', title: 'T', source: { type: 'content', content: [text('x'), png] } })],
    [{ role: 'user', content: [text('T'), text('x'), pngPart] }],
  ],
  [
    'document content string',
    [user({ type: 'document', source: { type: 'content', content: 'x' } })],
    [{ role: 'user', content: 'x' }],
  ],
  [
    'PDF where files are taken',
    [user(pdf())],
    [
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,AA==' } },
        ],
      },
    ],
    { files: true },
  ],
  [
    'PDF with title and context',
    [user(pdf({ title: 'T.pdf', context: 'C' }))],
    [
      {
        role: 'user',
        content: [
          text('C'),
          { type: 'file', file: { filename: 'T.pdf', file_data: 'data:application/pdf;base64,AA==' } },
        ],
      },
    ],
    { files: true },
  ],
  [
    'search_result',
    [
      user({
        type: 'search_result',
        title: 'T',
        source: 'https://a.example',
        content: [text('x'), text('y')],
      }),
    ],
    [{ role: 'user', content: 'T\nhttps://a.example\nx\ny' }],
  ],
  [
    'container_upload dropped',
    [user(text('a'), { type: 'container_upload', file_id: 'f' })],
    [{ role: 'user', content: 'a' }],
  ],

  ['assistant string', [{ role: 'assistant', content: 'a' }], [{ role: 'assistant', content: 'a' }]],
  ['assistant texts put together', [assistant(text('a'), text('b'))], [{ role: 'assistant', content: 'ab' }]],
  [
    'tool_use',
    [assistant(text('a'), use('1', 'f', { x: 1 }))],
    [{ role: 'assistant', content: 'a', tool_calls: [chatCall('1', '{"x":1}')] }],
  ],
  ['tool_use alone', [assistant(use('1'))], [called('1')]],
  ['tool_use without input', [assistant({ type: 'tool_use', id: '1', name: 'f' })], [called('1')]],
  ['white space beside tool_use', [assistant(text('\n'), use('1'))], [called('1')]],
  ['white space alone', [user(text('a')), assistant(text(' \n'))], [{ role: 'user', content: 'a' }]],
  [
    'thinking dropped',
    [user(text('a')), assistant({ type: 'thinking', thinking: 'hm', signature: '' }, text('b'))],
    [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
    ],
  ],
  [
    'thinking kept',
    [assistant({ type: 'thinking', thinking: 'hm', signature: '' }, text('b'))],
    [{ role: 'assistant', content: 'b', reasoning_content: 'hm' }],
    { reasoningHistoryField: 'ReasoningContent' },
  ],
  [
    'thinking kept as reasoning',
    [assistant({ type: 'thinking', thinking: 'hm', signature: 's' }, use('1'))],
    [{ role: 'assistant', content: null, reasoning: 'hm', tool_calls: [chatCall('1')] }],
    { reasoningHistoryField: 'Reasoning' },
  ],
  [
    'thinking alone',
    [user(text('a')), assistant({ type: 'thinking', thinking: 'hm', signature: '' })],
    [{ role: 'user', content: 'a' }],
  ],
  [
    'redacted_thinking dropped',
    [assistant({ type: 'redacted_thinking', data: 'x' }, text('b'))],
    [{ role: 'assistant', content: 'b' }],
  ],
  [
    'server tools dropped, text around them kept',
    [
      assistant(
        text('a'),
        { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        text('b'),
      ),
    ],
    [{ role: 'assistant', content: 'ab' }],
  ],
  [
    'neighbouring assistant messages are one turn',
    [assistant(text('a')), assistant(use('1')), user(result('1', 'r'))],
    [{ role: 'assistant', content: 'a', tool_calls: [chatCall('1')] }, toolMessage('1', 'r')],
  ],
  [
    'prefill',
    [user(text('a')), { role: 'assistant', content: 'The answer is' }],
    [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'The answer is' },
    ],
  ],

  ['result string', [assistant(use('1')), user(result('1', 'r'))], [called('1'), toolMessage('1', 'r')]],
  ['result absent', [assistant(use('1')), user(result('1'))], [called('1'), toolMessage('1', '')]],
  [
    'result texts',
    [assistant(use('1')), user(result('1', [text('a'), text('b')]))],
    [called('1'), toolMessage('1', 'a\nb')],
  ],
  [
    'results in the order of the calls',
    [assistant(use('1'), use('2'), use('3')), user(result('3', 'c'), result('1', 'a'), result('2', 'b'))],
    [called('1', '2', '3'), toolMessage('1', 'a'), toolMessage('2', 'b'), toolMessage('3', 'c')],
  ],
  [
    'results over two user messages',
    [assistant(use('1'), use('2')), user(result('2', 'b'), text('x')), user(result('1', 'a'))],
    [called('1', '2'), toolMessage('1', 'a'), toolMessage('2', 'b'), { role: 'user', content: 'x' }],
  ],
  [
    'results before the text of their message',
    [assistant(use('1')), user(text('x'), result('1', 'a'), text('y'))],
    [called('1'), toolMessage('1', 'a'), { role: 'user', content: 'x\ny' }],
  ],
  [
    'results before a system message',
    [assistant(use('1')), { role: 'system', content: 's' }, user(result('1', 'a'))],
    [called('1'), toolMessage('1', 'a'), { role: 'system', content: 's' }],
  ],
  [
    'an id that comes again in a later turn',
    [assistant(use('1')), user(result('1', 'a')), assistant(use('1')), user(result('1', 'b'))],
    [called('1'), toolMessage('1', 'a'), called('1'), toolMessage('1', 'b')],
  ],
  [
    'a call without result is left to the node',
    [assistant(use('1'), use('2')), user(result('1', 'a'))],
    [called('1', '2'), toolMessage('1', 'a')],
  ],
  [
    'error',
    [assistant(use('1')), user(result('1', 'no such file', { is_error: true }))],
    [called('1'), toolMessage('1', 'Error: no such file')],
  ],
  [
    'error that says so',
    [assistant(use('1')), user(result('1', 'error: no such file', { is_error: true }))],
    [called('1'), toolMessage('1', 'error: no such file')],
  ],
  [
    'error that says so in a tag',
    [assistant(use('1')), user(result('1', '<tool_use_error>no</tool_use_error>', { is_error: true }))],
    [called('1'), toolMessage('1', '<tool_use_error>no</tool_use_error>')],
  ],
  [
    'error without text',
    [assistant(use('1')), user(result('1', [], { is_error: true }))],
    [called('1'), toolMessage('1', 'Error')],
  ],
  [
    'is_error false',
    [assistant(use('1')), user(result('1', 'a', { is_error: false }))],
    [called('1'), toolMessage('1', 'a')],
  ],
  [
    'result with search_result and tool_reference',
    [
      assistant(use('1')),
      user(
        result('1', [
          { type: 'search_result', title: 'T', source: 'S', content: [text('x')] },
          { type: 'tool_reference', tool_name: 'g' },
        ]),
      ),
    ],
    [called('1'), toolMessage('1', 'T\nS\nx\ng')],
  ],
  [
    'image of a result moved',
    [assistant(use('1')), user(result('1', [text('see'), png]))],
    [called('1'), toolMessage('1', 'see'), { role: 'user', content: [note('1'), pngPart] }],
  ],
  [
    'image of a result inline',
    [assistant(use('1')), user(result('1', [text('see'), png]))],
    [called('1'), toolMessage('1', [text('see'), pngPart])],
    { toolImages: 'Inline' },
  ],
  [
    'images of two results',
    [assistant(use('1'), use('2')), user(result('2', [png]), result('1', [png]), text('x'))],
    [
      called('1', '2'),
      toolMessage('1', 'The result is attached to the next message.'),
      toolMessage('2', 'The result is attached to the next message.'),
      { role: 'user', content: [note('1'), pngPart, note('2'), pngPart, text('x')] },
    ],
  ],

  [
    'system message in the middle',
    [user(text('a')), { role: 'system', content: 's' }, assistant(text('b'))],
    [
      { role: 'user', content: 'a' },
      { role: 'system', content: 's' },
      { role: 'assistant', content: 'b' },
    ],
  ],
];

describe('messages content', () => {
  it.each(rows)('%s', (_, messages, chat, wish) => {
    expect(turns(messages, wish)).toEqual(chat);
  });

  it('6.22 moves images of a tool result to a user message', () => {
    const chat = turns([assistant(use('1')), user(result('1', [png]))]);
    expect(chat.at(-1)).toEqual({ role: 'user', content: [note('1'), pngPart] });
  });

  it('6.24 keeps text next to a tool result', () => {
    const chat = turns([assistant(use('1')), user(result('1', 'r'), text('and then?'))]);
    expect(chat).toEqual([called('1'), toolMessage('1', 'r'), { role: 'user', content: 'and then?' }]);
  });

  it('6.25 keeps search results and documents of a tool result', () => {
    const doc = {
      type: 'document',
      title: 'T',
      source: { type: 'text', media_type: 'text/plain', data: 'D' },
    };
    const found = { type: 'search_result', title: 'F', source: 'S', content: [text('x')] };
    expect(turns([assistant(use('1')), user(result('1', [doc, found]))]).at(-1)).toEqual(
      toolMessage('1', 'T\nD\nF\nS\nx'),
    );
    const file = turns([assistant(use('1')), user(result('1', [pdf()]))], { files: true }).at(-1);
    expect(JSON.stringify(file)).toContain('data:application/pdf;base64,AA==');
  });

  it('6.29 passes reasoning_content of a tool turn back where the node wants it', () => {
    const chat = turns(
      [assistant({ type: 'thinking', thinking: 'hm', signature: '' }, use('1')), user(result('1', 'r'))],
      { reasoningHistoryField: 'ReasoningContent' },
    );
    expect(chat[0]).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'hm',
      tool_calls: [chatCall('1')],
    });
  });

  it('6.33 sends no developer role', () => {
    const body = { system: 's', messages: [user(text('a')), { role: 'system', content: 'b' }] };
    const { messages } = convert(body, { developerRole: true }).chat;
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'system']);
  });

  it('6.34 puts all system texts first where the template refuses later ones', () => {
    const body = { system: 'one', messages: [user(text('a')), { role: 'system', content: 'two' }] };
    expect(convert(body, { systemPlacement: 'Leading' }).chat.messages).toEqual([
      { role: 'system', content: 'one\n\ntwo' },
      { role: 'user', content: 'a' },
    ]);
  });

  it('6.39 takes an empty text block that a client replays', () => {
    expect(
      turns([user(text('a')), assistant(text(''), use('1')), user(result('1', [text('')]), text(''))]),
    ).toEqual([{ role: 'user', content: 'a' }, called('1'), toolMessage('1', '')]);
  });

  it.each([
    ['string', 'be kind', 'be kind'],
    ['blocks', [text('a'), { ...text('b'), cache_control: { type: 'ephemeral' } }], 'a\n\nb'],
    ['empty', '', undefined],
    ['no blocks', [], undefined],
    [
      'billing header of Claude Code',
      [text('x-anthropic-billing-header: cc_version=1; cch=abc;'), text('b')],
      'b',
    ],
    ['billing header before other lines', 'x-anthropic-billing-header: x\nb', 'b'],
  ])('system: %s', (_, system, expected) => {
    const [first] = convert({ system }).chat.messages;
    expect(first?.role === 'system' ? first.content : undefined).toBe(expected);
  });
});
