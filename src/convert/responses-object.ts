import type { ChatUsage } from './chat-usage.ts';
import type { Finish } from './finish-reason.ts';
import type { ResponsesItem } from './responses-items.ts';
import type { ResponsesState } from './responses-state.ts';

/** What stays the same in every object of one response. */
export interface ResponseIdentity {
  readonly id: string;
  /** Unix time in seconds. */
  readonly createdAt: number;
}

/** How far a response is. */
export interface ResponseProgress {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: readonly ResponsesItem[];
  readonly usage?: ChatUsage;
  readonly serviceTier?: string | undefined;
  /** Why it is incomplete. */
  readonly reason?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The response object with every key that is required, done or not (responses.md). */
export function responseObject(
  identity: ResponseIdentity,
  progress: ResponseProgress,
  state: ResponsesState,
) {
  const { status, usage, reason, error } = progress;
  const { echo } = state;
  // One literal: with a spread in its middle it took four times as long, for each object of a stream too.
  return {
    id: identity.id,
    object: 'response',
    created_at: identity.createdAt,
    completed_at: status === 'completed' ? seconds(state.now) : null,
    status,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    model: echo.model,
    previous_response_id: echo.previous_response_id,
    instructions: echo.instructions,
    tools: echo.tools,
    tool_choice: echo.tool_choice,
    truncation: echo.truncation,
    parallel_tool_calls: echo.parallel_tool_calls,
    text: echo.text,
    top_p: echo.top_p,
    presence_penalty: echo.presence_penalty,
    frequency_penalty: echo.frequency_penalty,
    top_logprobs: echo.top_logprobs,
    temperature: echo.temperature,
    reasoning: echo.reasoning,
    max_output_tokens: echo.max_output_tokens,
    max_tool_calls: echo.max_tool_calls,
    store: echo.store,
    background: echo.background,
    metadata: echo.metadata,
    safety_identifier: echo.safety_identifier,
    prompt_cache_key: echo.prompt_cache_key,
    user: echo.user,
    service_tier: progress.serviceTier ?? 'default',
    output: progress.output,
    usage: usage === undefined ? null : responsesUsage(usage),
  };
}

/** The time of the response's making, and a fresh id. */
export function newIdentity(state: ResponsesState): ResponseIdentity {
  return { id: state.newId('resp_'), createdAt: seconds(state.now) };
}

/** Status and reason of an answer that ended so. */
export function endingOf(finish: Exclude<Finish, 'failed'>): Pick<ResponseProgress, 'status' | 'reason'> {
  if (finish === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  if (finish === 'filter') return { status: 'incomplete', reason: 'content_filter' };
  return { status: 'completed' };
}

function responsesUsage(usage: ChatUsage) {
  const { prompt, cacheRead, cacheWrite, completion, reasoning } = usage;
  return {
    input_tokens: prompt,
    input_tokens_details: {
      cached_tokens: cacheRead ?? 0,
      cache_write_tokens: cacheWrite,
    },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: prompt + completion,
  };
}

function seconds(now: () => number): number {
  return Math.floor(now() / 1_000);
}
