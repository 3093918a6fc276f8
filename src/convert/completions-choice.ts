import type { ChatUsage } from './chat-usage.ts';
import { defined } from './defined.ts';
import type { Finish } from './finish-reason.ts';

/** Why a choice ended, as a `finish_reason` of completions. */
export function completionsFinish(finish: Exclude<Finish, 'failed'>): 'stop' | 'length' | 'content_filter' {
  if (finish === 'length') return 'length';
  return finish === 'filter' ? 'content_filter' : 'stop';
}

/** The usage of all choices of a request together. */
export function totalUsage(usages: readonly ChatUsage[]): object {
  const prompt = sum(usages.map((usage) => usage.prompt));
  const completion = sum(usages.map((usage) => usage.completion));
  const cached = known(usages.map((usage) => usage.cacheRead));
  const written = known(usages.map((usage) => usage.cacheWrite));
  const reasoning = known(usages.map((usage) => usage.reasoning));
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached === undefined && written === undefined
      ? {}
      : { prompt_tokens_details: defined({ cached_tokens: cached, cache_write_tokens: written }) }),
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function known(counts: readonly (number | undefined)[]): number | undefined {
  const said = counts.filter((count) => count !== undefined);
  return said.length === 0 ? undefined : sum(said);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
