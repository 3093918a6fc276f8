import { describe, expect, it } from 'vitest';
import type { DialectWish } from '../../../src/convert/dialect.ts';
import { responsesRefusal } from '../../../src/convert/responses-errors.ts';
import { chatOf, convert, dialectWith, type Json, openAI, refusalOf } from './responses-fixtures.ts';

const user = [{ role: 'user', content: 'hi' }];
const bare = { model: 'upstream-model', messages: user };

/** Field, what it becomes, and what is named as dropped. */
type Row = readonly [
  name: string,
  body: Json,
  chat: Json,
  dropped?: readonly string[],
  dialect?: DialectWish,
];

const schema = { type: 'object', properties: { a: { type: 'string' } } };
const format = { type: 'json_schema', name: 'n', schema };

const carried: readonly Row[] = [
  ['input as text', {}, {}],
  ['model becomes the node’s', { model: 'alias' }, {}],
  ['max_output_tokens', { max_output_tokens: 5 }, { max_tokens: 5 }],
  [
    'max_output_tokens for a reasoning model',
    { max_output_tokens: 5 },
    { max_completion_tokens: 5 },
    [],
    { maxTokensField: 'MaxCompletionTokens' },
  ],
  [
    'sampling',
    { temperature: 0, top_p: 0.5, presence_penalty: -1, frequency_penalty: 1 },
    { temperature: 0, top_p: 0.5, presence_penalty: -1, frequency_penalty: 1 },
  ],
  [
    'null is absent',
    {
      temperature: null,
      top_p: null,
      max_output_tokens: null,
      instructions: null,
      text: null,
      reasoning: null,
      tools: null,
      tool_choice: null,
      previous_response_id: null,
      conversation: null,
      prompt: null,
      background: false,
      user: null,
      include: null,
      metadata: null,
      truncation: null,
      store: null,
    },
    {},
  ],
  ['top_logprobs', { top_logprobs: 3 }, { logprobs: true, top_logprobs: 3 }],
  ['top_logprobs 0', { top_logprobs: 0 }, {}],
  ['include logprobs', { include: ['message.output_text.logprobs'] }, { logprobs: true }],
  ['include of other things', { include: ['reasoning.encrypted_content', 'x'] }, {}],
  ['stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
  ['no stream', { stream: false, stream_options: { include_obfuscation: true } }, {}],
  ['text.format text', { text: { format: { type: 'text' } } }, {}],
  [
    'text.format json_object',
    { text: { format: { type: 'json_object' } } },
    { response_format: { type: 'json_object' } },
  ],
  [
    'text.format json_schema',
    { text: { format } },
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } },
  ],
  [
    'text.format json_schema, everything',
    { text: { format: { ...format, strict: true, description: 'd' } } },
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', schema, strict: true, description: 'd' },
      },
    },
  ],
  [
    'text.format json_schema, strict false and null',
    { text: { format: { ...format, strict: false, description: null } } },
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: false } } },
  ],
  ['text.verbosity', { text: { verbosity: 'low' } }, {}, ['text.verbosity']],
  ['text.verbosity as it is anyway', { text: { verbosity: 'medium' } }, {}],
  [
    'text.verbosity at OpenAI',
    { text: { verbosity: 'low' } },
    { verbosity: 'low' },
    [],
    { openAIExtras: true },
  ],
  ['reasoning.effort', { reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }],
  ['reasoning.effort null', { reasoning: { effort: null, summary: 'auto' } }, {}],
  ['reasoning.summary is not sent', { reasoning: { summary: 'auto' } }, {}],
  [
    'reasoning.effort to the nearest',
    { reasoning: { effort: 'xhigh' } },
    { reasoning_effort: 'high' },
    ['reasoning.effort'],
  ],
  [
    'reasoning.effort for a model that takes none',
    { reasoning: { effort: 'high' } },
    {},
    ['reasoning.effort'],
    { reasoningEfforts: [] },
  ],
  ['reasoning.effort none', { reasoning: { effort: 'none' } }, {}, ['reasoning.effort']],
  [
    'reasoning.effort max where it is taken',
    { reasoning: { effort: 'max' } },
    { reasoning_effort: 'max' },
    [],
    { reasoningEfforts: ['none', 'max'] },
  ],
  [
    'OpenAI extras elsewhere',
    {
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      service_tier: 'flex',
    },
    {},
    ['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'service_tier'],
  ],
  [
    'OpenAI extras at OpenAI',
    {
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      prompt_cache_options: { ttl: '30m' },
      service_tier: 'flex',
    },
    {
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      prompt_cache_options: { ttl: '30m' },
      service_tier: 'flex',
    },
    [],
    { openAIExtras: true },
  ],
  ['metadata is only repeated', { metadata: { a: 'b' } }, {}],
  ['store', { store: true }, {}, ['store']],
  ['store false', { store: false }, {}],
  ['truncation', { truncation: 'auto' }, {}, ['truncation']],
  ['truncation disabled', { truncation: 'disabled' }, {}],
  ['max_tool_calls', { max_tool_calls: 3 }, {}, ['max_tool_calls']],
  [
    'client_metadata, context_management, moderation',
    { client_metadata: { a: 'b' }, context_management: [{ type: 'compaction' }], moderation: { model: 'm' } },
    {},
    ['client_metadata', 'context_management', 'moderation'],
  ],
  [
    'unknown fields of text and reasoning',
    { text: { x: 1 }, reasoning: { mode: 'pro', context: 'auto', y: null } },
    {},
    ['text.x', 'reasoning.mode', 'reasoning.context'],
  ],
  ['unknown fields', { top_k: 3, x: null, y: [], z: false }, {}, ['top_k']],
  ['instructions', { instructions: 'be' }, { messages: [{ role: 'system', content: 'be' }, ...user] }],
  [
    'instructions where developers are known',
    { instructions: 'be' },
    { messages: [{ role: 'developer', content: 'be' }, ...user] },
    [],
    { developerRole: true },
  ],
  [
    'instructions alone',
    { instructions: 'be', input: [] },
    { messages: [{ role: 'system', content: 'be' }] },
  ],
];

describe('a Responses request', () => {
  const rows = carried.map(([name, body, chat, dropped = [], dialect = {}]) => {
    return { name, body, chat, dropped, dialect };
  });
  it.each(rows)('$name', ({ body, chat, dropped, dialect }) => {
    const converted = convert({ model: 'm', input: 'hi', ...body }, dialectWith(dialect));
    expect(converted.chat).toEqual({ ...bare, ...chat });
    expect(converted.dropped.toSorted()).toEqual(dropped.toSorted());
  });

  it('leaves the body as it was, and another node gets the same', () => {
    const body = {
      model: 'm',
      instructions: 'be',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      tools: [{ type: 'function', name: 'f', parameters: schema }],
      text: { format },
    };
    const before = structuredClone(body);
    const freeze = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      Object.freeze(value);
      for (const child of Object.values(value)) freeze(child);
    };
    freeze(body);
    const first = convert(body, openAI).chat;
    expect(convert(body, openAI).chat).toEqual(first);
    expect(body).toEqual(before);
  });

  it('joins system texts where the node wants them first', () => {
    const input = [
      { role: 'user', content: 'a' },
      { role: 'developer', content: 'b' },
    ];
    const dialect = dialectWith({ systemPlacement: 'Leading' });
    expect(chatOf({ instructions: 'i', input }, dialect)['messages']).toEqual([
      { role: 'system', content: 'i\n\nb' },
      { role: 'user', content: 'a' },
    ]);
  });

  it('is lossy only where the answer may differ', () => {
    expect(convert({ model: 'm', input: 'hi', store: true, user: 'u' }).lossy).toBe(false);
    expect(convert({ model: 'm', input: 'hi', tools: [{ type: 'web_search' }] }).lossy).toBe(true);
  });

  it('is refused for a strict key, naming each field, only where something is lost', () => {
    const body = { model: 'm', input: 'hi', tools: [{ type: 'web_search' }], truncation: 'auto', user: 'u' };
    const error = refusalOf(() => convert(body, dialectWith(), true));
    expect(error.status).toBe(400);
    expect(error.message).toContain('tools[0]');
    expect(error.message).toContain('truncation');
    expect(error.message).not.toContain('user');
    expect(() =>
      convert({ model: 'm', input: 'hi', user: 'u', store: true }, dialectWith(), true),
    ).not.toThrow();
  });
});

/** Body, status, code, param. */
const refused: readonly [name: string, body: unknown, code: string | null, param: string, status?: number][] =
  [
    ['no object', [], 'invalid_type', 'body'],
    ['no model', { input: 'hi' }, 'missing_required_parameter', 'model'],
    ['model of a wrong type', { model: 1, input: 'hi' }, 'invalid_type', 'model'],
    ['no input', { model: 'm' }, 'missing_required_parameter', 'input'],
    ['input null', { model: 'm', input: null }, 'missing_required_parameter', 'input'],
    ['empty text', { model: 'm', input: '' }, 'empty_string', 'input'],
    ['empty list', { model: 'm', input: [] }, 'empty_array', 'input'],
    [
      'nothing left',
      { model: 'm', input: [{ type: 'web_search_call', id: 'ws_1' }] },
      'missing_required_parameter',
      'input',
    ],
    ['input of a wrong type', { model: 'm', input: 3 }, 'invalid_type', 'input'],
    ['an item of a wrong type', { model: 'm', input: ['x'] }, 'invalid_type', 'input[0]'],
    ...[
      ['instructions', 1],
      ['max_output_tokens', '5'],
      ['max_output_tokens', 1.5],
      ['temperature', '1'],
      ['top_p', []],
      ['top_logprobs', 1.5],
      ['stream', 'yes'],
      ['stream_options', 'x'],
      ['tools', {}],
      ['parallel_tool_calls', 1],
      ['text', 'x'],
      ['reasoning', 'high'],
      ['user', 3],
      ['service_tier', 3],
      ['metadata', []],
      ['include', 'x'],
      ['truncation', true],
      ['previous_response_id', 1],
      ['store', 'x'],
      ['max_tool_calls', 'x'],
      ['prompt_cache_key', {}],
    ].map(([field, value]): [string, unknown, string, string] => [
      `${field} of a wrong type (${JSON.stringify(value)})`,
      { model: 'm', input: 'hi', [String(field)]: value },
      'invalid_type',
      String(field),
    ]),
    ...[
      ['max_output_tokens', 0],
      ['temperature', 3],
      ['temperature', -1],
      ['top_p', 2],
      ['presence_penalty', 3],
      ['frequency_penalty', -3],
      ['top_logprobs', 21],
      ['tool_choice', 'sometimes'],
    ].map(([field, value]): [string, unknown, string, string] => [
      `${field} out of range (${value})`,
      { model: 'm', input: 'hi', [String(field)]: value },
      'invalid_value',
      String(field),
    ]),
    [
      'effort nobody knows',
      { model: 'm', input: 'hi', reasoning: { effort: 'much' } },
      'invalid_value',
      'reasoning.effort',
    ],
    [
      'effort of a wrong type',
      { model: 'm', input: 'hi', reasoning: { effort: 1 } },
      'invalid_type',
      'reasoning.effort',
    ],
    [
      'metadata that is no text',
      { model: 'm', input: 'hi', metadata: { a: 1 } },
      'invalid_type',
      'metadata.a',
    ],
    [
      'format nobody knows',
      { model: 'm', input: 'hi', text: { format: { type: 'xml' } } },
      'invalid_value',
      'text.format.type',
    ],
    [
      'format without a type',
      { model: 'm', input: 'hi', text: { format: {} } },
      'missing_required_parameter',
      'text.format.type',
    ],
    [
      'format without a name',
      { model: 'm', input: 'hi', text: { format: { type: 'json_schema', schema } } },
      'missing_required_parameter',
      'text.format.name',
    ],
    [
      'format without a schema',
      { model: 'm', input: 'hi', text: { format: { type: 'json_schema', name: 'n' } } },
      'missing_required_parameter',
      'text.format.schema',
    ],
    [
      'format with an odd strict',
      { model: 'm', input: 'hi', text: { format: { ...format, strict: 1 } } },
      'invalid_type',
      'text.format.strict',
    ],
    [
      'previous_response_id',
      { model: 'm', input: 'hi', previous_response_id: 'resp_1' },
      'previous_response_not_found',
      'previous_response_id',
    ],
    [
      'conversation',
      { model: 'm', input: 'hi', conversation: 'conv_1' },
      'unsupported_parameter',
      'conversation',
    ],
    [
      'conversation object',
      { model: 'm', input: 'hi', conversation: { id: 'conv_1' } },
      'unsupported_parameter',
      'conversation',
    ],
    ['prompt', { model: 'm', prompt: { id: 'p' } }, 'unsupported_parameter', 'prompt'],
    ['background', { model: 'm', input: 'hi', background: true }, 'unsupported_parameter', 'background'],
  ];

describe('a Responses request is refused', () => {
  it.each(refused)('%s', (_name, body, code, param, status = 400) => {
    const answer = responsesRefusal(refusalOf(() => convert(body)));
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({
      error: { message: expect.stringMatching(/\S/), type: 'invalid_request_error', param, code },
    });
  });

  it('with the vendor’s words where clients read them', () => {
    const message = (body: unknown) => refusalOf(() => convert(body)).sentence;
    expect(message({ model: 'm', input: 'hi', previous_response_id: 'resp_1' })).toBe(
      "Previous response with id 'resp_1' not found.",
    );
    expect(message({ input: 'hi' })).toBe("Missing required parameter: 'model'.");
    expect(message({ model: 'm', input: 'hi', temperature: 'x' })).toBe(
      "Invalid type for 'temperature': expected a number, but got a string instead.",
    );
  });

  it('beyond its bounds, without a long time over it', () => {
    const deep = (levels: number): unknown => (levels === 0 ? {} : { a: deep(levels - 1) });
    const tool = { type: 'function', name: 'f', parameters: deep(500) };
    expect(refusalOf(() => convert({ model: 'm', input: 'hi', tools: [tool] })).param).toBe(
      'tools[0].parameters',
    );
    const many = Array.from({ length: 100_001 }, () => ({ role: 'user', content: 'x' }));
    expect(refusalOf(() => convert({ model: 'm', input: many })).code).toBe('array_above_max_length');
  });
});
