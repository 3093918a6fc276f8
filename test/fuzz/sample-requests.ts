const tool = {
  name: 'f',
  description: 'd',
  input_schema: { type: 'object', properties: { a: { type: 'string' } } },
};
const image = 'data:image/png;base64,iVBORw0KGgo=';

/** Good requests of every format, with as many fields as the format has. All name the model `m`. */
export const sampleRequests: Readonly<Record<string, readonly object[]>> = {
  '/v1/chat/completions': [
    {
      model: 'm',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
      stream_options: { include_usage: true },
    },
    { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], n: 1, stop: ['a'] },
  ],
  '/v1/completions': [
    { model: 'm', prompt: 'Hello', max_tokens: 5, stream: true, logprobs: 1, suffix: '', echo: false },
    { model: 'm', prompt: ['a', 'b'], n: 2, best_of: 2, stop: 'x', logit_bias: { 5: 1 }, seed: 1, user: 'u' },
    { model: 'm', prompt: 'Hello' },
  ],
  '/v1/embeddings': [{ model: 'm', input: ['a'], encoding_format: 'float', dimensions: 3 }],
  '/v1/messages': [
    {
      ...{
        model: 'm',
        max_tokens: 9,
        temperature: 0.5,
        top_k: 1,
        top_p: 1,
        stop_sequences: ['a'],
        stream: true,
      },
      system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 't', signature: 's' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 'b' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [{ type: 'text', text: 'r' }],
              is_error: false,
            },
          ],
        },
      ],
      tools: [tool, { type: 'web_search_20250305', name: 'web_search', max_uses: 2 }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2048 },
      metadata: { user_id: 'u' },
    },
    { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
  ],
  '/v1/messages/count_tokens': [
    {
      model: 'm',
      system: 's',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [tool],
      tool_choice: { type: 'any' },
    },
  ],
  '/v1/responses': [
    {
      ...{
        model: 'm',
        instructions: 'i',
        store: false,
        stream: true,
        max_output_tokens: 9,
        temperature: 1,
        top_p: 1,
      },
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_image', image_url: image, detail: 'auto' },
          ],
        },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 's' }],
          encrypted_content: 'x',
        },
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'call_1',
          name: 'f',
          arguments: '{"a":1}',
          status: 'completed',
        },
        { type: 'function_call_output', call_id: 'call_1', output: 'r' },
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          content: [{ type: 'output_text', text: 'o', annotations: [] }],
        },
      ],
      tools: [
        { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: true },
        { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      ],
      tool_choice: { type: 'function', name: 'f' },
      text: {
        format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
        verbosity: 'low',
      },
      reasoning: { effort: 'low', summary: 'auto' },
      metadata: { a: 'b' },
      include: ['reasoning.encrypted_content'],
      truncation: 'disabled',
    },
    { model: 'm', input: 'Hello' },
  ],
  '/v1/keys': [{ name: 'n', models: ['m'], expires_at: 4_000_000_000 }],
};
