import type { DialectWish } from './dialect.ts';
import type { UpstreamFault } from './upstream-fault.ts';

/** A setting of `spec.dialect` that leaves out a field that a node refused. */
export interface DialectRemedy {
  readonly field: keyof DialectWish;
  /** The setting as a manifest has it: `maxTokensField: MaxCompletionTokens`. */
  readonly setting: string;
}

const remedies: readonly (readonly [said: RegExp, field: keyof DialectWish, value: string])[] = [
  [/max_tokens.*max_completion_tokens/is, 'maxTokensField', 'MaxCompletionTokens'],
  [/max_completion_tokens/i, 'maxTokensField', 'MaxTokens'],
  [/parallel_tool_calls/i, 'parallelToolCalls', 'false'],
  [/reasoning_effort|does not support thinking/i, 'reasoningEfforts', '[]'],
  [/reasoning_content.*(?:must|required|missing|passed back)/is, 'reasoningHistoryField', 'ReasoningContent'],
  [/reasoning_content|'reasoning'|"reasoning"/i, 'reasoningHistoryField', 'None'],
  [/\bdeveloper\b/i, 'developerRole', 'false'],
  [/system (?:message|role|prompt)s?\b.*(?:first|beginning|start)/is, 'systemPlacement', 'Leading'],
  [/\btop_k\b/i, 'samplingExtras', 'false'],
  [
    /safety_identifier|prompt_cache_key|prompt_cache_retention|verbosity|service_tier|(?:field|parameter|property|argument)s?\W+user\b/i,
    'openAIExtras',
    'false',
  ],
  [/(?:content )?type\W+file\b|file (?:part|input|content)s?/i, 'files', 'false'],
];

/** The setting that would help if a node answers 400 to a converted request; undefined if none is known. For the log only. */
export function dialectRemedy(fault: UpstreamFault): DialectRemedy | undefined {
  if (fault.status !== 400 && fault.status !== 422) return undefined;
  const found = remedies.find(([said]) => said.test(fault.message));
  return found === undefined ? undefined : { field: found[1], setting: `${found[1]}: ${found[2]}` };
}
