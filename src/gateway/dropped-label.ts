/** Fields that conversions leave out, as metric labels: paths without their indexes. */
const known: ReadonlySet<string> = new Set([
  // messages
  'betas',
  'cache_control',
  'container',
  'context_management',
  'diagnostics',
  'inference_geo',
  'mcp_servers',
  'messages',
  'messages.content',
  'messages.content.cache_control',
  'messages.content.citations',
  'messages.content.content.cache_control',
  'metadata.user_id',
  'output_config',
  'output_config.effort',
  'output_format',
  'service_tier',
  'speed',
  'system',
  'system.cache_control',
  'thinking',
  'thinking.budget_tokens',
  'tool_choice',
  'tool_choice.disable_parallel_tool_use',
  'tools',
  'tools.allowed_callers',
  'tools.cache_control',
  'tools.defer_loading',
  'tools.eager_input_streaming',
  'tools.input_examples',
  'top_k',
  // responses
  'client_metadata',
  'include',
  'instructions',
  'input',
  'input.content',
  'max_tool_calls',
  'metadata',
  'moderation',
  'parallel_tool_calls',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'reasoning.effort',
  'safety_identifier',
  'store',
  'stream_options',
  'text',
  'text.verbosity',
  'truncation',
  'user',
  // completions
  'best_of',
  'logprobs',
  'suffix',
]);

/**
 * The label of a dropped path: `tools[2].cache_control` is `tools.cache_control`; what is not listed counts for its
 * first field, and what nobody knows is `other`.
 */
export function droppedLabel(path: string): string {
  const label = path.replaceAll(/\[\d+\]/g, '');
  if (known.has(label)) return label;
  const [first = ''] = label.split('.');
  return known.has(first) ? first : 'other';
}
