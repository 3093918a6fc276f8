import { describe, expect, it } from 'vitest';
import type { DialectWish } from '../../../src/convert/dialect.ts';
import { resolveDialect } from '../../../src/convert/dialect.ts';
import { convertCountTokensRequest, convertMessagesRequest } from '../../../src/convert/messages-request.ts';
import { convert, options, request } from './messages-fixtures.ts';

const schema = { type: 'object', properties: { x: { type: 'number' } } };
const tools = [{ name: 'f', input_schema: schema }];
const closed = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};
const all: DialectWish = { reasoningEfforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] };
const extras: DialectWish = { openAIExtras: true };

/** What a field becomes: `chat` are fields of the chat request (undefined: absent), `dropped` the header's entries. */
interface Row {
  readonly name: string;
  readonly body: object;
  readonly wish?: DialectWish;
  readonly chat?: Record<string, unknown>;
  readonly dropped?: readonly string[];
}

const hash64 = /^[0-9a-f]{64}$/;

const rows: readonly Row[] = [
  { name: 'model is the name of the node', body: {}, chat: { model: 'node-model' } },
  { name: 'max_tokens', body: { max_tokens: 7 }, chat: { max_tokens: 7, max_completion_tokens: undefined } },
  {
    name: 'max_tokens where the node has another field',
    body: { max_tokens: 7 },
    wish: { maxTokensField: 'MaxCompletionTokens' },
    chat: { max_tokens: undefined, max_completion_tokens: 7 },
  },
  { name: 'n is never sent', body: { n: 3 }, chat: { n: undefined }, dropped: ['n'] },
  {
    name: 'stream asks for usage',
    body: { stream: true },
    chat: { stream: true, stream_options: { include_usage: true } },
  },
  { name: 'stream false', body: { stream: false }, chat: { stream: undefined, stream_options: undefined } },
  { name: 'stop_sequences', body: { stop_sequences: ['A', 'B'] }, chat: { stop: ['A', 'B'] } },
  { name: 'stop_sequences empty', body: { stop_sequences: [] }, chat: { stop: undefined } },
  {
    name: 'temperature and top_p',
    body: { temperature: 0, top_p: 0.5 },
    chat: { temperature: 0, top_p: 0.5 },
  },
  {
    name: 'null counts as absent',
    body: {
      temperature: null,
      top_p: null,
      stream: null,
      tools: null,
      tool_choice: null,
      metadata: null,
      thinking: null,
      system: null,
    },
    chat: { temperature: undefined },
    dropped: [],
  },
  { name: 'top_k', body: { top_k: 5 }, chat: { top_k: undefined }, dropped: ['top_k'] },
  {
    name: 'top_k where the node takes it',
    body: { top_k: 5 },
    wish: { samplingExtras: true },
    chat: { top_k: 5 },
    dropped: [],
  },
  {
    name: 'metadata.user_id',
    body: { metadata: { user_id: 'u' } },
    chat: { user: undefined },
    dropped: ['metadata.user_id'],
  },
  {
    name: 'metadata.user_id where the node takes it',
    body: { metadata: { user_id: 'u' } },
    wish: extras,
    chat: { user: 'u', safety_identifier: 'u' },
    dropped: [],
  },
  {
    name: '6.31 metadata.user_id that is too long',
    body: { metadata: { user_id: JSON.stringify({ device: 'x'.repeat(150) }) } },
    wish: extras,
    chat: { user: expect.stringMatching(hash64), safety_identifier: expect.stringMatching(hash64) },
  },
  {
    name: 'thinking budget < 5000',
    body: { thinking: { type: 'enabled', budget_tokens: 4999 } },
    chat: { reasoning_effort: 'low' },
    dropped: ['thinking.budget_tokens'],
  },
  {
    name: 'thinking budget < 10000',
    body: { thinking: { type: 'enabled', budget_tokens: 5000 } },
    chat: { reasoning_effort: 'medium' },
  },
  {
    name: 'thinking budget < 24000',
    body: { thinking: { type: 'enabled', budget_tokens: 10000 } },
    chat: { reasoning_effort: 'high' },
  },
  {
    name: 'thinking budget above',
    body: { thinking: { type: 'enabled', budget_tokens: 24000 } },
    chat: { reasoning_effort: 'high' },
  },
  {
    name: 'thinking budget above where the node has xhigh',
    body: { thinking: { type: 'enabled', budget_tokens: 24000 } },
    wish: all,
    chat: { reasoning_effort: 'xhigh' },
  },
  {
    name: 'thinking adaptive',
    body: { thinking: { type: 'adaptive' } },
    chat: { reasoning_effort: undefined },
    dropped: [],
  },
  {
    name: 'thinking adaptive with effort',
    body: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    chat: { reasoning_effort: 'high' },
    dropped: [],
  },
  {
    name: 'effort is clamped',
    body: { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
    chat: { reasoning_effort: 'high' },
    dropped: ['output_config.effort'],
  },
  {
    name: 'effort without thinking',
    body: { output_config: { effort: 'low' } },
    chat: { reasoning_effort: 'low' },
  },
  {
    name: '6.36 effort where the node takes none',
    body: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    wish: { reasoningEfforts: [] },
    chat: { reasoning_effort: undefined },
    dropped: ['output_config.effort'],
  },
  {
    name: 'thinking disabled',
    body: { thinking: { type: 'disabled' } },
    chat: { reasoning_effort: undefined },
    dropped: ['thinking'],
  },
  {
    name: 'thinking disabled where the node can',
    body: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
    wish: all,
    chat: { reasoning_effort: 'none' },
    dropped: ['output_config.effort'],
  },
  {
    name: 'thinking between_tools',
    body: { thinking: { type: 'between_tools' } },
    chat: { reasoning_effort: undefined },
  },
  {
    name: 'output format',
    body: { output_config: { format: { type: 'json_schema', schema } } },
    chat: { response_format: { type: 'json_schema', json_schema: { name: 'response', schema } } },
  },
  {
    name: 'output format of the beta',
    body: { output_format: { type: 'json_schema', schema } },
    chat: { response_format: { type: 'json_schema', json_schema: { name: 'response', schema } } },
  },
  {
    name: '6.35 strict where the schema is closed',
    body: { output_config: { format: { type: 'json_schema', schema: closed } } },
    chat: {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'response', schema: closed, strict: true },
      },
    },
  },
  {
    name: '6.35 not strict where an inner object is open',
    body: {
      output_config: {
        format: { type: 'json_schema', schema: { ...closed, properties: { a: { type: 'object' } } } },
      },
    },
    chat: {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'response', schema: { ...closed, properties: { a: { type: 'object' } } } },
      },
    },
  },
  {
    name: '6.35 not strict where a property is optional',
    body: { output_config: { format: { type: 'json_schema', schema: { ...closed, required: [] } } } },
    chat: {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'response', schema: { ...closed, required: [] } },
      },
    },
  },
  {
    name: 'fields that Anthropic alone knows',
    body: {
      service_tier: 'auto',
      speed: 'fast',
      diagnostics: { a: 1 },
      user_profile_id: 'u',
      workspace_id: 'w',
      betas: ['b'],
    },
    dropped: ['service_tier', 'speed', 'diagnostics', 'user_profile_id', 'workspace_id', 'betas'],
  },
  {
    name: 'container id, context_management, inference_geo',
    body: { container: 'c', context_management: { edits: [{}] }, inference_geo: 'eu' },
    dropped: ['container', 'context_management', 'inference_geo'],
  },
  {
    name: '6.37 unknown fields are dropped',
    body: { brand_new: 1, 'bad\r\nname': 2 },
    chat: { brand_new: undefined },
    dropped: ['brand_new', 'bad??name'],
  },
  {
    name: 'empty lists ask for nothing',
    body: { mcp_servers: [], betas: [], container: { skills: [] } },
    dropped: [],
  },

  {
    name: 'tool',
    body: { tools: [{ name: 'f', description: 'd', input_schema: schema }] },
    chat: {
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema } }],
      tool_choice: undefined,
    },
  },
  {
    name: 'tool of type null and custom',
    body: {
      tools: [
        { type: null, name: 'f', input_schema: schema },
        { type: 'custom', name: 'g', input_schema: schema },
      ],
    },
    chat: {
      tools: [
        { type: 'function', function: { name: 'f', parameters: schema } },
        { type: 'function', function: { name: 'g', parameters: schema } },
      ],
    },
  },
  {
    name: '6.21 leftover fields of a tool stay out of the schema',
    body: {
      tools: [
        {
          type: 'custom',
          name: 'f',
          input_schema: schema,
          cache_control: { type: 'ephemeral' },
          defer_loading: true,
          eager_input_streaming: true,
          input_examples: [{}],
          allowed_callers: ['direct'],
          extra: 1,
        },
      ],
    },
    chat: { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] },
  },
  {
    name: 'tool strict',
    body: {
      tools: [
        { name: 'f', strict: true, input_schema: schema },
        { name: 'g', strict: false, input_schema: schema },
      ],
    },
    chat: {
      tools: [
        { type: 'function', function: { name: 'f', parameters: schema, strict: true } },
        { type: 'function', function: { name: 'g', parameters: schema } },
      ],
    },
  },
  {
    name: 'typed client tool',
    body: { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    chat: {
      tools: [
        {
          type: 'function',
          function: {
            name: 'bash',
            description: expect.any(String),
            parameters: expect.objectContaining({ type: 'object' }),
          },
        },
      ],
    },
  },
  {
    name: 'text editor and memory',
    body: {
      tools: [
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
        { type: 'memory_20250818', name: 'memory' },
      ],
    },
    chat: { tools: [expect.anything(), expect.anything()] },
    dropped: [],
  },
  {
    name: 'server tools',
    body: {
      tools: [
        ...tools,
        { type: 'web_search_20250305', name: 'web_search' },
        { type: 'code_execution_20250825', name: 'code_execution' },
        { type: 'tool_search_tool_regex_20251119', name: 's' },
      ],
    },
    chat: { tools: [expect.anything()] },
    dropped: ['tools[1]', 'tools[2]', 'tools[3]'],
  },
  {
    name: 'server tools alone',
    body: {
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    chat: { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined },
  },
  {
    name: 'tool_choice auto',
    body: { tools, tool_choice: { type: 'auto' } },
    chat: { tool_choice: 'auto', parallel_tool_calls: undefined },
  },
  {
    name: 'tool_choice any',
    body: { tools, tool_choice: { type: 'any' } },
    chat: { tool_choice: 'required' },
  },
  { name: 'tool_choice none', body: { tools, tool_choice: { type: 'none' } }, chat: { tool_choice: 'none' } },
  {
    name: 'tool_choice tool',
    body: { tools, tool_choice: { type: 'tool', name: 'f' } },
    chat: { tool_choice: { type: 'function', function: { name: 'f' } } },
  },
  {
    name: 'tool_choice without tools',
    body: { tool_choice: { type: 'auto' } },
    chat: { tool_choice: undefined },
  },
  {
    name: 'disable_parallel_tool_use',
    body: { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    chat: { parallel_tool_calls: false },
  },
  {
    name: 'disable_parallel_tool_use false',
    body: { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: false } },
    chat: { parallel_tool_calls: undefined },
  },
  {
    name: '6.59 disable_parallel_tool_use where the node refuses it',
    body: { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    wish: { parallelToolCalls: false },
    chat: { tool_choice: 'auto', parallel_tool_calls: undefined },
    dropped: ['tool_choice.disable_parallel_tool_use'],
  },
];

describe('messages request fields', () => {
  it.each(rows)('$name', ({ body, wish, chat, dropped }) => {
    const before = JSON.stringify(request(body));
    const original = JSON.parse(before) as object;
    const converted = convertMessagesRequest(original, options(wish));
    const sent = JSON.parse(JSON.stringify(converted.chat)) as Record<string, unknown>;
    for (const [field, value] of Object.entries(chat ?? {})) expect(sent[field]).toEqual(value);
    if (dropped !== undefined) expect([...converted.dropped].sort()).toEqual([...dropped].sort());
    expect(JSON.stringify(original)).toBe(before);
  });

  it('sends nothing but fields that a plain node takes', () => {
    const everything = Object.assign({}, ...rows.slice(0, -12).map((row) => row.body)) as object;
    const { chat } = convert({ ...everything, tools, tool_choice: { type: 'auto' } });
    const known = [
      'model',
      'messages',
      'max_tokens',
      'stop',
      'temperature',
      'top_p',
      'tools',
      'tool_choice',
      'response_format',
      'reasoning_effort',
      'stream',
      'stream_options',
    ];
    const sent = JSON.parse(JSON.stringify(chat)) as object;
    expect(Object.keys(sent).filter((field) => !known.includes(field))).toEqual([]);
  });

  it('6.32 shortens long and odd tool names the same way in tools, history and tool_choice', () => {
    const name = `mcp__server.with dots__${'x'.repeat(80)}`;
    const { chat, state } = convert({
      tools: [{ name, input_schema: schema }],
      tool_choice: { type: 'tool', name },
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name, input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
      ],
    });
    const short = chat.tools?.[0]?.function.name ?? '';
    expect(short).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(chat.tool_choice).toEqual({ type: 'function', function: { name: short } });
    expect(JSON.stringify(chat.messages[1])).toContain(`"${short}"`);
    expect(state.names.origin(short)).toEqual({ name });
  });

  it('follows the host: OpenAI and Azure have defaults of their own', () => {
    const body = request({
      metadata: { user_id: 'u' },
      thinking: { type: 'enabled', budget_tokens: 30_000 },
    });
    for (const host of [
      'api.openai.com',
      'eu.api.openai.com',
      'x.openai.azure.com',
      'x.services.ai.azure.com',
    ]) {
      const dialect = resolveDialect({ host, model: 'gpt-5.2' });
      const { chat } = convertMessagesRequest(body, { ...options(), dialect });
      expect(chat).toMatchObject({ max_completion_tokens: 100, user: 'u', reasoning_effort: 'xhigh' });
    }
  });

  it('6.36 sends no effort to models of OpenAI that do not reason', () => {
    const dialect = resolveDialect({ host: 'api.openai.com', model: 'gpt-4o-mini' });
    const { chat } = convertMessagesRequest(request({ output_config: { effort: 'high' } }), {
      ...options(),
      dialect,
    });
    expect(chat.reasoning_effort).toBeUndefined();
  });

  it('tells losses from hints', () => {
    const cached = [
      { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
    ];
    expect(convert({ messages: cached })).toMatchObject({
      lossy: false,
      dropped: ['messages[0].content[0].cache_control'],
    });
    const marks = {
      system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }],
      metadata: { user_id: 'u' },
    };
    expect(convert(marks)).toMatchObject({
      lossy: false,
      dropped: ['metadata.user_id', 'system[0].cache_control'],
    });
    expect(convert({ top_k: 3 })).toMatchObject({ lossy: true, dropped: ['top_k'] });
  });

  it('refuses losses for a strict key and names each', () => {
    const body = request({
      top_k: 3,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      metadata: { user_id: 'u' },
    });
    expect(() => convertMessagesRequest(body, options({}, true))).toThrowError(
      expect.objectContaining({
        status: 400,
        code: 'unsupported_parameter',
        reason: expect.stringMatching(/top_k, thinking\.budget_tokens$/),
      }),
    );
    expect(() =>
      convertMessagesRequest(request({ metadata: { user_id: 'u' } }), options({}, true)),
    ).not.toThrow();
  });

  it('bounds the list of what was dropped', () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`field_${index}${'x'.repeat(300)}`, 1]),
    );
    const { dropped } = convert(many);
    expect(dropped).toHaveLength(25);
    expect(dropped.at(-1)).toMatch(/^\+\d+$/);
    expect(dropped.join(', ').length).toBeLessThan(3_000);
  });

  it('converts a count_tokens body, which has no max_tokens', () => {
    const { chat } = convertCountTokensRequest(
      { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
      options(),
    );
    expect(chat).toEqual({ model: 'node-model', messages: [{ role: 'user', content: 'hi' }] });
  });
});

const image = (source: object) => [{ role: 'user', content: [{ type: 'image', source }] }];
const user = (...content: unknown[]) => [{ role: 'user', content }];

const refused: readonly [name: string, body: unknown, param: string | null, reason: RegExp, code: string][] =
  [
    ['no object', 'x', 'body', /valid dictionary/, 'invalid_type'],
    ['null', null, 'body', /valid dictionary/, 'invalid_type'],
    ['a list', [], 'body', /valid dictionary/, 'invalid_type'],
    [
      'model missing',
      { max_tokens: 1, messages: user() },
      'model',
      /^Field required$/,
      'missing_required_parameter',
    ],
    ['model a number', request({ model: 3 }), 'model', /valid string/, 'invalid_type'],
    [
      'max_tokens missing',
      request({ max_tokens: undefined }),
      'max_tokens',
      /^Field required$/,
      'missing_required_parameter',
    ],
    ['max_tokens 0', request({ max_tokens: 0 }), 'max_tokens', /greater than or equal to 1/, 'invalid_value'],
    ['max_tokens a text', request({ max_tokens: '5' }), 'max_tokens', /valid integer/, 'invalid_type'],
    ['max_tokens a fraction', request({ max_tokens: 1.5 }), 'max_tokens', /valid integer/, 'invalid_type'],
    [
      'messages missing',
      request({ messages: undefined }),
      'messages',
      /^Field required$/,
      'missing_required_parameter',
    ],
    ['messages a text', request({ messages: 'x' }), 'messages', /valid list/, 'invalid_type'],
    ['messages empty', request({ messages: [] }), 'messages', /at least one message/, 'invalid_value'],
    [
      'messages without content',
      request({ messages: [{ role: 'user', content: '' }] }),
      'messages',
      /at least one message/,
      'invalid_value',
    ],
    ['message no object', request({ messages: [1] }), 'messages[0]', /valid dictionary/, 'invalid_type'],
    [
      'role missing',
      request({ messages: [{ content: 'x' }] }),
      'messages[0].role',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'role unknown',
      request({ messages: [{ role: 'tool', content: 'x' }] }),
      'messages[0].role',
      /'user', 'assistant' or 'system'/,
      'invalid_value',
    ],
    [
      'content missing',
      request({ messages: [{ role: 'user' }] }),
      'messages[0].content',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'content a number',
      request({ messages: [{ role: 'user', content: 3 }] }),
      'messages[0].content',
      /valid list/,
      'invalid_type',
    ],
    [
      'block no object',
      request({ messages: user('x') }),
      'messages[0].content[0]',
      /valid dictionary/,
      'invalid_type',
    ],
    [
      'block without type',
      request({ messages: user({ text: 'x' }) }),
      'messages[0].content[0].type',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'block of an unknown type',
      request({ messages: user({ type: 'hologram' }) }),
      'messages[0].content[0].type',
      /'hologram' does not match/,
      'invalid_value',
    ],
    [
      'tool_use in a user message',
      request({ messages: user({ type: 'tool_use', id: 'a', name: 'f', input: {} }) }),
      'messages[0].content[0].type',
      /does not match/,
      'invalid_value',
    ],
    [
      'image in an assistant message',
      request({ messages: [{ role: 'assistant', content: [{ type: 'image' }] }] }),
      'messages[0].content[0].type',
      /does not match/,
      'invalid_value',
    ],
    [
      'image in system',
      request({ system: [{ type: 'image' }] }),
      'system[0].type',
      /does not match/,
      'invalid_value',
    ],
    ['system a number', request({ system: 3 }), 'system', /valid list/, 'invalid_type'],
    [
      'text missing',
      request({ messages: user({ type: 'text' }) }),
      'messages[0].content[0].text',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'text a number',
      request({ messages: user({ type: 'text', text: 3 }) }),
      'messages[0].content[0].text',
      /valid string/,
      'invalid_type',
    ],
    [
      'image without source',
      request({ messages: user({ type: 'image' }) }),
      'messages[0].content[0].source',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'image by file_id',
      request({ messages: image({ type: 'file', file_id: 'f' }) }),
      'messages[0].content[0].source.type',
      /not supported/,
      'unsupported_value',
    ],
    [
      'image without data',
      request({ messages: image({ type: 'base64', media_type: 'image/png' }) }),
      'messages[0].content[0].source.data',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'document by url',
      request({ messages: user({ type: 'document', source: { type: 'url', url: 'https://a.example' } }) }),
      'messages[0].content[0].source.type',
      /not supported/,
      'unsupported_value',
    ],
    [
      'document by file_id',
      request({ messages: user({ type: 'document', source: { type: 'file', file_id: 'f' } }) }),
      'messages[0].content[0].source.type',
      /not supported/,
      'unsupported_value',
    ],
    [
      'PDF where the node takes no files',
      request({
        messages: user({
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'AA' },
        }),
      }),
      'messages[0].content[0].source',
      /PDF documents are not supported/,
      'unsupported_value',
    ],
    [
      'document in a document',
      request({
        messages: user({
          type: 'document',
          source: { type: 'content', content: [{ type: 'document', source: {} }] },
        }),
      }),
      'messages[0].content[0].source.content[0].type',
      /does not match/,
      'invalid_value',
    ],
    [
      'tool_use without id',
      request({ messages: [{ role: 'assistant', content: [{ type: 'tool_use', name: 'f', input: {} }] }] }),
      'messages[0].content[0].id',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'tool_use input a text',
      request({
        messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: '{}' }] }],
      }),
      'messages[0].content[0].input',
      /valid dictionary/,
      'invalid_type',
    ],
    [
      'tool_use twice with an id',
      request({
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', id: 'a', name: 'f' },
              { type: 'tool_use', id: 'a', name: 'f' },
            ],
          },
        ],
      }),
      'messages[0].content[1].id',
      /must be unique/,
      'invalid_value',
    ],
    [
      'tool_result without a call',
      request({ messages: user({ type: 'tool_result', tool_use_id: 'a' }) }),
      'messages[0].content[0]',
      /unexpected `tool_use_id` found in `tool_result` blocks: a\./,
      'invalid_value',
    ],
    [
      'tool_result twice',
      request({
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f' }] },
          ...user({ type: 'tool_result', tool_use_id: 'a' }, { type: 'tool_result', tool_use_id: 'a' }),
        ],
      }),
      'messages[1].content[1]',
      /single result/,
      'invalid_value',
    ],
    [
      'tool_result of a turn before',
      request({
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f' }] },
          ...user({ type: 'tool_result', tool_use_id: 'a' }),
          { role: 'assistant', content: 'x' },
          ...user({ type: 'tool_result', tool_use_id: 'a' }),
        ],
      }),
      'messages[3].content[0]',
      /unexpected `tool_use_id`/,
      'invalid_value',
    ],
    [
      'is_error a text',
      request({
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f' }] },
          ...user({ type: 'tool_result', tool_use_id: 'a', is_error: 'yes' }),
        ],
      }),
      'messages[1].content[0].is_error',
      /valid boolean/,
      'invalid_type',
    ],
    [
      'input nested too deep',
      request({
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: nested(300) }] },
        ],
      }),
      'messages[0].content[0].input',
      /nested/,
      'invalid_value',
    ],
    [
      'schema nested too deep',
      request({ tools: [{ name: 'f', input_schema: nested(5_000) }] }),
      'tools[0].input_schema',
      /nested/,
      'invalid_value',
    ],
    [
      'temperature above 1',
      request({ temperature: 1.1 }),
      'temperature',
      /less than or equal to 1/,
      'invalid_value',
    ],
    ['temperature a text', request({ temperature: '1' }), 'temperature', /valid number/, 'invalid_type'],
    ['top_p below 0', request({ top_p: -1 }), 'top_p', /greater than or equal to 0/, 'invalid_value'],
    ['top_k a fraction', request({ top_k: 1.5 }), 'top_k', /valid integer/, 'invalid_type'],
    ['stream a text', request({ stream: 'true' }), 'stream', /valid boolean/, 'invalid_type'],
    [
      'stop_sequences a text',
      request({ stop_sequences: 'x' }),
      'stop_sequences',
      /valid list/,
      'invalid_type',
    ],
    [
      'stop sequence a number',
      request({ stop_sequences: ['x', 3] }),
      'stop_sequences[1]',
      /valid string/,
      'invalid_type',
    ],
    ['metadata a text', request({ metadata: 'x' }), 'metadata', /valid dictionary/, 'invalid_type'],
    [
      'user_id a number',
      request({ metadata: { user_id: 3 } }),
      'metadata.user_id',
      /valid string/,
      'invalid_type',
    ],
    ['thinking a boolean', request({ thinking: true }), 'thinking', /valid dictionary/, 'invalid_type'],
    [
      'thinking without type',
      request({ thinking: { budget_tokens: 3 } }),
      'thinking.type',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'thinking of an unknown type',
      request({ thinking: { type: 'deep' } }),
      'thinking.type',
      /'enabled', 'adaptive'/,
      'invalid_value',
    ],
    [
      'thinking without budget',
      request({ thinking: { type: 'enabled' } }),
      'thinking.budget_tokens',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'budget a text',
      request({ thinking: { type: 'enabled', budget_tokens: '3' } }),
      'thinking.budget_tokens',
      /valid integer/,
      'invalid_type',
    ],
    [
      'effort unknown',
      request({ output_config: { effort: 'enormous' } }),
      'output_config.effort',
      /'low'/,
      'invalid_value',
    ],
    [
      'a tool forced without tools',
      request({ tool_choice: { type: 'any' } }),
      'tool_choice',
      /while providing tools/,
      'invalid_value',
    ],
    [
      'output format unknown',
      request({ output_config: { format: { type: 'xml' } } }),
      'output_config.format.type',
      /json_schema/,
      'invalid_value',
    ],
    [
      'output format without schema',
      request({ output_format: { type: 'json_schema' } }),
      'output_format.schema',
      /^Field required$/,
      'missing_required_parameter',
    ],
    ['tools an object', request({ tools: {} }), 'tools', /valid list/, 'invalid_type'],
    ['tool a text', request({ tools: ['f'] }), 'tools[0]', /valid dictionary/, 'invalid_type'],
    [
      'tool without name',
      request({ tools: [{ input_schema: schema }] }),
      'tools[0].name',
      /^Field required$/,
      'missing_required_parameter',
    ],
    [
      'tool with an empty name',
      request({ tools: [{ name: '', input_schema: schema }] }),
      'tools[0].name',
      /at least 1 character/,
      'invalid_value',
    ],
    [
      'tool without schema',
      request({ tools: [{ name: 'f' }] }),
      'tools[0].input_schema',
      /^Field required$/,
      'missing_required_parameter',
    ],
    ['tool twice', request({ tools: [...tools, ...tools] }), 'tools[1]', /unique/, 'invalid_value'],
    [
      'tool of an unknown type',
      request({ tools: [{ type: 'function', function: {} }] }),
      'tools[0].type',
      /'function' does not match/,
      'invalid_value',
    ],
    [
      'computer tool',
      request({ tools: [{ type: 'computer_20250124', name: 'computer' }] }),
      'tools[0].type',
      /not supported/,
      'unsupported_value',
    ],
    [
      'server tool forced',
      request({
        tools: [...tools, { type: 'web_search_20250305', name: 'web_search' }],
        tool_choice: { type: 'tool', name: 'web_search' },
      }),
      'tool_choice.name',
      /not supported/,
      'unsupported_value',
    ],
    [
      'any of server tools alone',
      request({ tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'any' } }),
      'tool_choice',
      /None of the tools/,
      'unsupported_value',
    ],
    [
      'unknown tool forced',
      request({ tools, tool_choice: { type: 'tool', name: 'g' } }),
      'tool_choice.name',
      /not found/,
      'invalid_value',
    ],
    [
      'tool_choice a text',
      request({ tools, tool_choice: 'auto' }),
      'tool_choice',
      /valid dictionary/,
      'invalid_type',
    ],
    [
      'tool_choice unknown',
      request({ tools, tool_choice: { type: 'maybe' } }),
      'tool_choice.type',
      /'auto', 'any'/,
      'invalid_value',
    ],
    [
      'mcp_servers',
      request({ mcp_servers: [{ type: 'url' }] }),
      'mcp_servers',
      /not supported/,
      'unsupported_parameter',
    ],
    [
      'container.skills',
      request({ container: { skills: [{ skill_id: 'pptx' }] } }),
      'container.skills',
      /not supported/,
      'unsupported_parameter',
    ],
  ];

describe('messages request refusals', () => {
  it.each(refused)('%s', (_, body, param, reason, code) => {
    expect(() => convertMessagesRequest(body, options())).toThrowError(
      expect.objectContaining({
        name: 'ConversionError',
        status: 400,
        param,
        code,
        reason: expect.stringMatching(reason),
      }),
    );
  });
});

function nested(depth: number): object {
  let value: object = {};
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
}
