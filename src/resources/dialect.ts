import { z } from 'zod';
import { setOf } from './fields.ts';

/** What `reasoning_effort` may say in chat-completions, from least to most. */
const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/**
 * What a node's or a model's chat-completions takes (`spec.dialect`, `spec.models[].dialect`). Nothing has a default:
 * absent means the most widely accepted choice, which the conversion knows and which differs by host.
 */
export const dialectSchema = z.object({
  maxTokensField: z
    .enum(['MaxTokens', 'MaxCompletionTokens'])
    .meta({ description: 'The field that carries the output limit: max_tokens or max_completion_tokens.' })
    .optional(),
  developerRole: z
    .boolean()
    .meta({ description: 'Whether messages of the role developer are taken; else they are sent as system.' })
    .optional(),
  systemPlacement: z
    .enum(['Inline', 'Leading'])
    .meta({ description: 'Whether system messages may stand anywhere, or only in the first place.' })
    .optional(),
  reasoningEfforts: setOf(z.enum(reasoningEfforts), reasoningEfforts.length)
    .meta({
      description:
        'The values of reasoning_effort that are taken; an empty list means that it is never sent.',
    })
    .optional(),
  reasoningHistoryField: z
    .enum(['None', 'ReasoningContent', 'Reasoning'])
    .meta({
      description: 'The field that carries earlier reasoning back: none, reasoning_content or reasoning.',
    })
    .optional(),
  toolImages: z
    .enum(['UserMessage', 'Inline'])
    .meta({
      description:
        'Where images of a tool result go: into a user message after it, or into the result itself.',
    })
    .optional(),
  files: z.boolean().meta({ description: 'Whether file parts are taken.' }).optional(),
  parallelToolCalls: z.boolean().meta({ description: 'Whether parallel_tool_calls is taken.' }).optional(),
  openAIExtras: z
    .boolean()
    .meta({
      description:
        "Whether OpenAI's own extra fields are taken: user, safety_identifier, prompt_cache_key, verbosity, service_tier, store and metadata.",
    })
    .optional(),
  samplingExtras: z
    .boolean()
    .meta({ description: 'Whether extra sampling fields are taken: top_k, min_p and the like.' })
    .optional(),
  tokenize: z
    .boolean()
    .meta({ description: 'Whether the node has a tokenize endpoint, for exact token counts.' })
    .optional(),
});
