import type { ChatAnswer } from './chat-reply.ts';
import { completionsFinish, totalUsage } from './completions-choice.ts';
import type { CompletionsState } from './completions-request.ts';
import type { ConvertedReply } from './conversion.ts';

/**
 * Merges the answers to the chat requests of one completions request, in their order, to one completion
 * (completions.md). A refusal is given as text, reasoning not at all.
 */
export function convertCompletionsReply(
  answers: readonly ChatAnswer[],
  state: CompletionsState,
): ConvertedReply {
  const choices = answers.map(({ text, refusal, finish }, index) => ({
    text: (state.openings[index] ?? '') + text + refusal,
    index,
    logprobs: null,
    finish_reason: completionsFinish(finish),
  }));
  const body = {
    id: state.newId('cmpl-'),
    object: 'text_completion',
    created: Math.floor(state.now() / 1_000),
    model: state.model,
    choices,
    usage: totalUsage(answers.map((answer) => answer.usage)),
  };
  return { json: JSON.stringify(body), lost: [...new Set(answers.flatMap(lostOf))] };
}

function lostOf(answer: ChatAnswer): readonly string[] {
  const lost = new Set(answer.unread);
  if (answer.reasoning.length > 0) lost.add('reasoning');
  if (answer.citations.length > 0) lost.add('annotations');
  if (answer.toolCalls.length > 0) lost.add('tool_calls');
  if (answer.logprobs.length > 0) lost.add('logprobs');
  if (answer.kept.length > 0) lost.add('signature');
  if (answer.serviceTier !== undefined) lost.add('service_tier');
  return [...lost];
}
