/** Fields that conversions leave out, as metric labels: paths without their indexes. */
const known: ReadonlySet<string> = new Set([
  // messages
  'betas',
  'billing_policy',
  'cache_control',
  'container',
  'context_management',
  'diagnostics',
  'fallback_credit_token',
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
  'output_config.task_budget',
  'output_format',
  'service_tier',
  'speed',
  'stop_sequences',
  'system',
  'system.cache_control',
  'thinking',
  'thinking.block_binding',
  'thinking.budget_tokens',
  'thinking.display',
  'tool_choice',
  'tool_choice.disable_parallel_tool_use',
  'tools',
  'tools.allowed_callers',
  'tools.cache_control',
  'tools.defer_loading',
  'tools.eager_input_streaming',
  'tools.input_examples',
  'top_k',
  'user_profile_id',
  'workspace_id',
  // responses
  'access_programs',
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
  'reasoning.context',
  'reasoning.effort',
  'reasoning.mode',
  'safety_identifier',
  'store',
  'stream_options',
  'text',
  'text.verbosity',
  'tools.async',
  'tools.format',
  'tools.output_schema',
  'truncation',
  'user',
  // completions
  'best_of',
  'logprobs',
  'suffix',
]);

/**
 * The label of a dropped path: `tools[2].cache_control` is `tools.cache_control`; a path that is not listed counts for
 * its first field, and an unknown field is `other`.
 */
export function droppedLabel(path: string): string {
  const label = path.replaceAll(/\[\d+\]/g, '');
  if (known.has(label)) return label;
  const [first = ''] = label.split('.');
  return known.has(first) ? first : 'other';
}
