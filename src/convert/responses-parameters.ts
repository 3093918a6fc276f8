import type { ChatRequest } from './chat-request.ts';
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
  const text = optionalObject(body, 'text', '');
  const count = optionalNumber(body, 'max_output_tokens', '', { integer: true, least: 1 });
  const tokens = logprobs(body);
  const newField = context.dialect.maxTokensField === 'MaxCompletionTokens';
  return {
    max_completion_tokens: newField ? count : undefined,
    max_tokens: newField ? undefined : count,
    temperature: optionalNumber(body, 'temperature', '', { least: 0, most: 2 }),
    top_p: optionalNumber(body, 'top_p', '', { least: 0, most: 1 }),
    presence_penalty: optionalNumber(body, 'presence_penalty', '', { least: -2, most: 2 }),
    frequency_penalty: optionalNumber(body, 'frequency_penalty', '', { least: -2, most: 2 }),
    logprobs: tokens.logprobs,
    top_logprobs: tokens.top_logprobs,
    response_format: text === undefined ? undefined : convertTextFormat(text),
    verbosity: text === undefined ? undefined : verbosity(text, context),
    reasoning_effort: effort(optionalObject(body, 'reasoning', ''), context),
  };
}

/** Whether reasoning is to be shown as a summary. */
export function wantsSummary(body: JsonObject): boolean {
  const reasoning = optionalObject(body, 'reasoning', '');
  if (reasoning === undefined) return false;
  return (
    (optionalString(reasoning, 'summary', 'reasoning') ??
      optionalString(reasoning, 'generate_summary', 'reasoning')) !== undefined
  );
}

/** Log probabilities: asked for by a number of alternatives or by `include`. */
function logprobs(body: JsonObject): Pick<ChatRequest, 'logprobs' | 'top_logprobs'> {
  const alternatives = optionalNumber(body, 'top_logprobs', '', { integer: true, least: 0, most: 20 }) ?? 0;
  const included = optionalList(body, 'include', '', 100);
  if (alternatives > 0) return { logprobs: true, top_logprobs: alternatives };
  const wanted = included?.includes('message.output_text.logprobs') === true;
  return { logprobs: wanted || undefined, top_logprobs: undefined };
}

function verbosity(text: JsonObject, { dialect, dropped }: ResponsesContext): string | undefined {
  const wish = optionalString(text, 'verbosity', 'text');
  if (wish === undefined || dialect.openAIExtras) return wish;
  // `medium` is what every model does unasked.
  if (wish !== 'medium') dropped.loss('text.verbosity');
  return undefined;
}

function effort(reasoning: JsonObject | undefined, { dialect, dropped }: ResponsesContext) {
  const wish = reasoning === undefined ? undefined : optionalString(reasoning, 'effort', 'reasoning');
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
