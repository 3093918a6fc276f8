import type { ChatRequest } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { isEffort, nearestEffort } from './reasoning-effort.ts';
import { invalid } from './request-fields.ts';
import { convertTextFormat } from './responses-output-format.ts';
import type { ResponsesContext } from './responses-state.ts';

/** Sampling, length, reasoning, output format and log probabilities of a Responses request, as chat-completions says them. */
export function convertParameters(
  request: Fields,
  reasoning: Fields | undefined,
  context: ResponsesContext,
): Partial<ChatRequest> {
  const text = request.object('text');
  const count = request.number('max_output_tokens', { integer: true, least: 1 });
  const tokens = logprobs(request);
  const newField = context.dialect.maxTokensField === 'MaxCompletionTokens';
  return {
    max_completion_tokens: newField ? count : undefined,
    max_tokens: newField ? undefined : count,
    temperature: request.number('temperature', { least: 0, most: 2 }),
    top_p: request.number('top_p', { least: 0, most: 1 }),
    presence_penalty: request.number('presence_penalty', { least: -2, most: 2 }),
    frequency_penalty: request.number('frequency_penalty', { least: -2, most: 2 }),
    logprobs: tokens.logprobs,
    top_logprobs: tokens.top_logprobs,
    response_format: text === undefined ? undefined : convertTextFormat(text),
    verbosity: text === undefined ? undefined : verbosity(text, context),
    reasoning_effort: effort(reasoning, context),
  };
}

/** Whether reasoning is to be shown as a summary. */
export function wantsSummary(reasoning: Fields | undefined): boolean {
  const summary = reasoning?.text('summary');
  const older = reasoning?.text('generate_summary');
  return (summary ?? older) !== undefined;
}

/** Log probabilities: asked for by a number of alternatives or by `include`. */
function logprobs(request: Fields): Pick<ChatRequest, 'logprobs' | 'top_logprobs'> {
  const alternatives = request.number('top_logprobs', { integer: true, least: 0, most: 20 }) ?? 0;
  const included = request.texts('include', 100);
  if (alternatives > 0) return { logprobs: true, top_logprobs: alternatives };
  const wanted = included?.includes('message.output_text.logprobs') === true;
  return { logprobs: wanted || undefined, top_logprobs: undefined };
}

function verbosity(text: Fields, { dialect, dropped }: ResponsesContext): string | undefined {
  const wish = text.text('verbosity');
  if (wish === undefined || dialect.openAIExtras) return wish;
  // `medium` is the default of every model.
  if (wish !== 'medium') dropped.loss('text.verbosity');
  return undefined;
}

/** Which earlier reasoning the model is shown: `reasoningHistoryField` decides it. */
const shown: ReadonlySet<string> = new Set(['context']);

function effort(reasoning: Fields | undefined, { dialect, dropped }: ResponsesContext) {
  reasoning?.hints(shown);
  reasoning?.lossUnless('mode', 'standard');
  const wish = reasoning?.text('effort');
  if (wish === undefined) return undefined;
  if (!isEffort(wish))
    throw invalid(
      'reasoning.effort',
      "Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' and 'max'",
    );
  const taken = nearestEffort(wish, dialect.reasoningEfforts);
  if (taken !== wish) dropped.loss('reasoning.effort');
  return taken;
}
