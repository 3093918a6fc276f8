import type { ChatRequest } from './chat-request.ts';
import { defined } from './defined.ts';
import type { JsonObject } from './json.ts';
import { isEffort, nearestEffort } from './reasoning-effort.ts';
import {
  invalid,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalString,
  pathOf,
} from './request-fields.ts';
import { convertTextFormat } from './responses-output-format.ts';
import type { ResponsesContext } from './responses-state.ts';

/** Sampling, length, reasoning, output format and log probabilities of a Responses request, as chat-completions says them. */
export function convertParameters(body: JsonObject, context: ResponsesContext): Partial<ChatRequest> {
  const text = optionalObject(body, 'text', '') ?? {};
  return defined({
    ...maxTokens(body, context),
    temperature: optionalNumber(body, 'temperature', '', { least: 0, most: 2 }),
    top_p: optionalNumber(body, 'top_p', '', { least: 0, most: 1 }),
    presence_penalty: optionalNumber(body, 'presence_penalty', '', { least: -2, most: 2 }),
    frequency_penalty: optionalNumber(body, 'frequency_penalty', '', { least: -2, most: 2 }),
    ...logprobs(body),
    response_format: convertTextFormat(text),
    verbosity: verbosity(text, context),
    reasoning_effort: effort(optionalObject(body, 'reasoning', '') ?? {}, context),
  });
}

/** Whether the caller wants log probabilities: by a number of alternatives or by `include`. */
export function wantsLogprobs(body: JsonObject): boolean {
  return logprobs(body).logprobs === true;
}

/** Whether reasoning is to be shown as a summary. */
export function wantsSummary(body: JsonObject): boolean {
  const reasoning = optionalObject(body, 'reasoning', '') ?? {};
  return (
    (optionalString(reasoning, 'summary', 'reasoning') ??
      optionalString(reasoning, 'generate_summary', 'reasoning')) !== undefined
  );
}

function maxTokens(body: JsonObject, { dialect }: ResponsesContext): Partial<ChatRequest> {
  const count = optionalNumber(body, 'max_output_tokens', '', { integer: true, least: 1 });
  if (count === undefined) return {};
  return dialect.maxTokensField === 'MaxCompletionTokens'
    ? { max_completion_tokens: count }
    : { max_tokens: count };
}

function logprobs(body: JsonObject): { logprobs?: true; top_logprobs?: number } {
  const alternatives = optionalNumber(body, 'top_logprobs', '', { integer: true, least: 0, most: 20 }) ?? 0;
  const included = optionalList(body, 'include', '', 100) ?? [];
  if (alternatives > 0) return { logprobs: true, top_logprobs: alternatives };
  return included.includes('message.output_text.logprobs') ? { logprobs: true } : {};
}

function verbosity(text: JsonObject, { dialect, dropped }: ResponsesContext): string | undefined {
  const wish = optionalString(text, 'verbosity', 'text');
  if (wish === undefined || dialect.openAIExtras) return wish;
  // `medium` is what every model does unasked.
  if (wish !== 'medium') dropped.loss('text.verbosity');
  return undefined;
}

function effort(reasoning: JsonObject, { dialect, dropped }: ResponsesContext) {
  const wish = optionalString(reasoning, 'effort', 'reasoning');
  if (wish === undefined) return undefined;
  if (!isEffort(wish))
    throw invalid(
      pathOf('reasoning', 'effort'),
      "Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' and 'max'",
    );
  const taken = nearestEffort(wish, dialect.reasoningEfforts);
  if (taken !== wish) dropped.loss('reasoning.effort');
  return taken;
}
