/** An answer format of a node. */
export type AnswerFormat = 'chat' | 'completions' | 'messages' | 'responses';

/** One event of a stream. */
export interface SampleEvent {
  readonly name?: string;
  readonly data: object;
}

const usage = {
  ...{ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, prompt_cache_hit_tokens: 1 },
  prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 1 },
  completion_tokens_details: { reasoning_tokens: 1 },
};
const chatFrame = { id: 'x', object: 'chat.completion', created: 1, model: 'm', service_tier: 'default' };
const citation = { start_index: 0, end_index: 1, url: 'https://x.example', title: 't' };
const annotations = [{ type: 'url_citation', url_citation: citation }];
const logprobs = { content: [{ token: 'H', logprob: -1, bytes: [72], top_logprobs: [] }] };
const reasoningDetails = [
  { type: 'reasoning.text', text: 'r', signature: 's', id: 'd', format: 'x', index: 0 },
  { type: 'reasoning.encrypted', data: 'e' },
];
const thinking = [{ type: 'thinking', thinking: 'r', signature: 's' }];
const signed = { google: { thought_signature: 's' } };
const call = {
  ...{ index: 0, id: 'c', type: 'function', extra_content: signed },
  function: { name: 'f', arguments: '{"a":1}' },
};

const chatMessage = {
  role: 'assistant',
  ...{
    content: 'Hi',
    refusal: 'no',
    reasoning_content: 'r',
    reasoning: 'r',
    reasoning_details: reasoningDetails,
  },
  ...{
    thinking_blocks: thinking,
    tool_calls: [call],
    function_call: { name: 'f', arguments: '{}' },
    annotations,
    extra_content: signed,
  },
};

const message = {
  ...{
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'tool_use',
    stop_sequence: null,
  },
  content: [
    { type: 'thinking', thinking: 't', signature: 's' },
    { type: 'text', text: 'Hi', citations: [{ type: 'char_location', cited_text: 'x' }] },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
  ],
  usage: { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 1, cache_creation_input_tokens: 1 },
};

const outputText = {
  type: 'output_text',
  text: 'Hi',
  annotations: [{ type: 'url_citation', ...citation }],
  logprobs: [],
};
const output = [
  { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'x' },
  { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [outputText] },
  { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}', status: 'completed' },
];
const response = {
  ...{
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    error: null,
    output,
  },
  ...{ incomplete_details: null, parallel_tool_calls: true, tool_choice: 'auto', tools: [], metadata: {} },
  usage: {
    ...{ input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    ...{ input_tokens_details: { cached_tokens: 1 }, output_tokens_details: { reasoning_tokens: 1 } },
  },
};
const started = { ...response, status: 'in_progress', output: [], usage: null };

/** Whole answers of status 200, with every member that the gateway reads. */
export const sampleAnswers: Readonly<Record<AnswerFormat | 'embeddings', readonly object[]>> = {
  chat: [
    {
      ...chatFrame,
      choices: [
        { index: 0, message: chatMessage, logprobs, finish_reason: 'tool_calls', stop_reason: 'x', usage },
      ],
      ...{ usage, x_groq: { usage }, error: null },
    },
    {
      ...chatFrame,
      choices: [
        {
          index: 0,
          message: {
            content: null,
            images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,eA==' } }],
            audio: { id: 'a', data: 'eA==', transcript: 't' },
            tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f', input: 'x' } }],
          },
          finish_reason: 'stop',
        },
      ],
    },
    {
      ...chatFrame,
      choices: [{ index: 0, message: { content: [{ type: 'text', text: 'Hi' }] }, finish_reason: 'stop' }],
    },
  ],
  completions: [
    {
      ...{ id: 'x', object: 'text_completion', created: 1, model: 'm', usage },
      choices: [{ index: 0, text: 'Hi', logprobs: null, finish_reason: 'stop' }],
    },
  ],
  messages: [message],
  responses: [response],
  embeddings: [
    { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], usage },
  ],
};

const chunk = (delta: object, finish: string | null = null) => ({
  data: { ...chatFrame, choices: [{ index: 0, delta, logprobs, finish_reason: finish, stop_reason: null }] },
});

/** Streams of events, each with every member that the gateway reads. */
export const sampleStreams: Readonly<Record<AnswerFormat, readonly SampleEvent[]>> = {
  chat: [
    chunk({ role: 'assistant', content: '', reasoning_content: 'r', reasoning_details: reasoningDetails }),
    chunk({
      content: 'Hi',
      refusal: 'no',
      reasoning: 'r',
      thinking_blocks: thinking,
      annotations,
      extra_content: signed,
    }),
    chunk({ tool_calls: [{ ...call, function: { name: 'f', arguments: '' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] }),
    chunk({}, 'tool_calls'),
    { data: { ...chatFrame, choices: [], usage, x_groq: { usage } } },
  ],
  completions: [
    {
      data: { id: 'x', model: 'm', choices: [{ index: 0, text: 'Hi', logprobs: null, finish_reason: null }] },
    },
    { data: { id: 'x', model: 'm', choices: [{ index: 0, text: '', finish_reason: 'stop' }] } },
    { data: { id: 'x', model: 'm', choices: [], usage } },
  ],
  messages: [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 't', name: 'f', input: {} },
    },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'signature_delta', signature: 's' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 1 },
    },
    { type: 'message_stop' },
  ].map((data) => ({ name: data.type, data })),
  responses: [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...output[1], status: 'in_progress', content: [] },
    },
    {
      ...{ type: 'response.content_part.added', item_id: 'msg_1', output_index: 0, content_index: 0 },
      part: { ...outputText, text: '' },
    },
    {
      ...{ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0 },
      ...{ delta: 'Hi', logprobs: [] },
    },
    { type: 'response.output_text.done', item_id: 'msg_1', output_index: 0, content_index: 0, text: 'Hi' },
    { type: 'response.output_item.done', output_index: 0, item: output[1] },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '{}' },
    { type: 'response.completed', response },
  ].map((data, sequence_number) => ({ name: data.type, data: { ...data, sequence_number } })),
};

const said = {
  message: 'no sk-abcdefghijklmnop',
  type: 'server_error',
  code: 'x',
  param: 'p',
  status: 'UNAVAILABLE',
};

/** Errors in an event of a stream, in the forms that nodes write. */
export const sampleErrorEvents: Readonly<Record<AnswerFormat, readonly SampleEvent[]>> = {
  chat: [
    { data: { error: said } },
    { data: { error: 'no' } },
    { name: 'error', data: said },
    {
      data: {
        id: 'x',
        choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'no' } }],
      },
    },
    {
      data: { error: { code: 429, message: 'no', metadata: { raw: 'x', provider_name: 'p' } }, user_id: 'u' },
    },
    { data: { object: 'error', message: 'no', type: 'BadRequestError', param: null, code: 400 } },
  ],
  completions: [
    { data: { error: said } },
    { data: { choices: [{ index: 0, text: '', finish_reason: 'error' }] } },
  ],
  messages: [
    {
      name: 'error',
      data: { type: 'error', error: { type: 'overloaded_error', message: 'no' }, request_id: 'r' },
    },
    { name: 'error', data: { type: 'error', error: said } },
  ],
  responses: [
    {
      name: 'error',
      data: { type: 'error', code: 'server_error', message: 'no', param: null, sequence_number: 1 },
    },
    { name: 'error', data: { type: 'error', error: said, sequence_number: 1 } },
    {
      name: 'response.failed',
      data: {
        type: 'response.failed',
        sequence_number: 1,
        response: { ...started, status: 'failed', error: { code: 'server_error', message: 'no', type: 't' } },
      },
    },
    {
      name: 'response.incomplete',
      data: {
        type: 'response.incomplete',
        response: { ...started, incomplete_details: { reason: 'max_output_tokens' } },
      },
    },
  ],
};

/** Bodies of HTTP errors, in the forms that nodes write. */
export const sampleErrorBodies: readonly object[] = [
  { error: said },
  { error: 'no', message: 'no', code: 1 },
  { type: 'error', error: { type: 'invalid_request_error', message: 'no' }, request_id: 'r' },
  { object: 'error', message: 'no', type: 'BadRequestError', param: null, code: 400 },
  { detail: [{ loc: ['body', 'messages', 0], msg: 'Field required', type: 'missing', input: {}, ctx: {} }] },
  { detail: 'no' },
  { message: 'no', code: 'x', status: 'y' },
  [
    {
      error: {
        code: 400,
        message: 'no',
        status: 'INVALID_ARGUMENT',
        details: [{ '@type': 't', reason: 'r' }],
      },
    },
  ],
];

/** Answers of `GET /models`. */
export const sampleModelLists: readonly object[] = [
  {
    object: 'list',
    data: [
      { id: 'm', object: 'model', created: 1, owned_by: 'x', max_model_len: 8192, root: 'r', parent: null },
      { id: 'n', type: 'model', display_name: 'N', max_input_tokens: 1, max_tokens: 1, context_length: 1 },
    ],
    ...{ has_more: true, first_id: 'm', last_id: 'n' },
  },
  { models: [{ id: 'm', name: 'm', model: 'm' }, 'n'] },
  [{ id: 'm' }, 'n'],
];

/** Answers of `POST /tokenize`. */
export const sampleTokenCounts: readonly object[] = [
  { count: 7, max_model_len: 8192, tokens: [1, 2], token_strs: null },
];

/** Events of endpoints. */
export const sampleEndpointEvents: readonly object[] = [
  { type: 'image_generation.partial_image', b64_json: 'eA==', partial_image_index: 0 },
  {
    type: 'image_generation.completed',
    b64_json: 'eA==',
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  },
  { type: 'error', error: { type: 'server_error', code: 'c', message: 'm', param: null } },
];
