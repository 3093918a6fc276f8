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
    {
      ...{ model: 'm', prompt: 'Hello', presence_penalty: 1, frequency_penalty: 1, temperature: 1, top_p: 1 },
      ...{ stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
    },
    { model: 'm', prompt: 'Hello', max_tokens: 5, stream: true, logprobs: 1, suffix: '', echo: false },
    { model: 'm', prompt: ['a', 'b'], n: 2, best_of: 2, stop: 'x', logit_bias: { 5: 1 }, seed: 1, user: 'u' },
    { model: 'm', prompt: 'Hello' },
  ],
  '/v1/embeddings': [{ model: 'm', input: ['a'], encoding_format: 'float', dimensions: 3 }],
  '/v1/messages': [
    {
      ...{ model: 'm', max_tokens: 9, output_format: { type: 'json_schema', schema: { type: 'object' } } },
      messages: [
        {
          role: 'user',
          content: [
            {
              ...{ type: 'document', title: 't', context: 'c', citations: { enabled: true } },
              source: { type: 'base64', media_type: 'application/pdf', data: 'eA==' },
            },
          ],
        },
        { role: 'assistant', content: 'a', clear_at: 1 },
        {
          role: 'user',
          content: [{ type: 'tool_reference', tool_name: 'f', transformations: ['oversized_image'] }],
        },
      ],
      tools: [
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 5 },
        {
          name: 'g',
          input_schema: { type: 'object', required: ['a'] },
          allowed_callers: ['direct'],
          strict: true,
        },
      ],
      output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      mcp_servers: [{ name: 'x', url: 'https://x.example' }],
      container: { id: 'c', skills: [{ type: 'anthropic', skill_id: 'x' }] },
    },
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
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 'b', command: 'x' } },
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
      ...{ model: 'm', max_tool_calls: 1, prompt_cache_options: { mode: 'x' }, presence_penalty: 1 },
      ...{ frequency_penalty: 1, stream_options: { include_obfuscation: false }, previous_response_id: null },
      input: [
        {
          ...{ type: 'message', role: 'assistant', phase: 'commentary' },
          content: [{ type: 'output_text', text: 'o' }],
        },
        {
          type: 'message',
          role: 'user',
          content: [
            {
              type: 'input_file',
              file_data: 'data:application/pdf;base64,eA==',
              filename: 'f',
              file_id: null,
            },
            { type: 'input_audio', input_audio: { data: 'eA==', format: 'wav' } },
          ],
        },
        { type: 'custom_tool_call', call_id: 'c', name: 'c', input: 'x', caller: 'direct', namespace: 'n' },
        { type: 'custom_tool_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'r' }] },
        { type: 'compaction', encrypted_content: 'x' },
      ],
      tools: [
        { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'regex', definition: 'x' } },
        {
          ...{ type: 'namespace', name: 'n', description: 'd' },
          tools: [{ type: 'function', name: 'g', parameters: {}, allowed_callers: ['direct'] }],
        },
        { type: 'tool_search', execution: 'client', description: 'd', parameters: {} },
      ],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'custom', name: 'c', namespace: 'n' }],
      },
      reasoning: { effort: 'low', generate_summary: 'auto', context: 'x' },
    },
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
  '/v1/rerank': [
    { model: 'm', query: 'q', documents: ['a', { text: 'b' }], top_n: 1, return_documents: true },
  ],
  '/v1/moderations': [{ model: 'm', input: [{ type: 'text', text: 'a' }] }],
  '/v1/images/generations': [
    { model: 'm', prompt: 'x', n: 1, size: 'auto', stream: true, partial_images: 1 },
  ],
  '/v1/images/edits': [{ model: 'm', prompt: 'x', images: [{ image_url: image }] }],
  '/v1/audio/speech': [{ model: 'm', input: 'x', voice: 'alloy', stream_format: 'sse', speed: 1 }],
  '/v1/audio/transcriptions': [{ model: 'm', file: 'eA==', timestamp_granularities: ['word'] }],
  '/v1/audio/translations': [{ model: 'm', file: 'eA==', response_format: 'json', temperature: 0 }],
  '/v1/keys': [{ name: 'n', models: ['m'], expires_at: 4_000_000_000 }],
};
