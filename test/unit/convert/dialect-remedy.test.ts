import { expect, it } from 'vitest';
import { dialectRemedy } from '../../../src/convert/dialect-remedy.ts';
import { readUpstreamError } from '../../../src/convert/upstream-error.ts';

it.each([
  [
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    'maxTokensField: MaxCompletionTokens',
  ],
  ['Unknown name "max_completion_tokens": Cannot find field.', 'maxTokensField: MaxTokens'],
  ['Unknown name "parallel_tool_calls": Cannot find field.', 'parallelToolCalls: false'],
  ['Unrecognized request argument supplied: reasoning_effort', 'reasoningEfforts: []'],
  ['"llama3" does not support thinking', 'reasoningEfforts: []'],
  [
    'The reasoning_content in the thinking mode must be passed back to the API.',
    'reasoningHistoryField: ReasoningContent',
  ],
  ['Unexpected role developer', 'developerRole: false'],
  ['System message must be at the beginning.', 'systemPlacement: Leading'],
  ['Extra inputs are not permitted: top_k', 'samplingExtras: false'],
  ['Unknown parameter: safety_identifier', 'openAIExtras: false'],
  ['Something else is wrong', undefined],
])('%s', (message, setting) => {
  const fault = readUpstreamError(400, JSON.stringify({ error: { message } }));
  expect(dialectRemedy(fault)?.setting).toBe(setting);
  expect(dialectRemedy(readUpstreamError(500, JSON.stringify({ error: { message } })))).toBeUndefined();
});
