import type { ChatUsage } from './chat-usage.ts';
import type { Finish } from './finish-reason.ts';
import { itemsJson, type ResponsesItem } from './responses-items.ts';
import type { ResponsesState } from './responses-state.ts';

/** What stays the same in every object of one response. */
export interface ResponseIdentity {
  readonly id: string;
  /** Unix time in seconds. */
  readonly createdAt: number;
}

/** The status of a response. */
export interface ResponseProgress {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: readonly ResponsesItem[];
  /** All text of the output as JSON, if it is known. */
  readonly textJson?: string | undefined;
  readonly usage?: ChatUsage;
  readonly serviceTier?: string | undefined;
  /** Why it is incomplete. */
  readonly reason?: 'max_output_tokens' | 'content_filter';
  readonly error?: { readonly code: string; readonly message: string };
}

/** The response object with every key that is required, done or not (responses.md), as JSON text. */
export function responseJson(
  identity: ResponseIdentity,
  progress: ResponseProgress,
  state: ResponsesState,
): string {
  const { status, usage, serviceTier, reason, error } = progress;
  return (
    `{"id":"${identity.id}","object":"response","created_at":${identity.createdAt}` +
    `,"completed_at":${status === 'completed' ? seconds(state.now) : 'null'},"status":"${status}"` +
    `,"error":${error === undefined ? 'null' : JSON.stringify(error)}` +
    `,"incomplete_details":${reason === undefined ? 'null' : `{"reason":"${reason}"}`},${state.echo}` +
    `,"service_tier":"${isTierLost(serviceTier) ? 'default' : (serviceTier ?? 'default')}"` +
    `,"output":${itemsJson(progress.output, progress.textJson)}` +
    `,"usage":${usage === undefined ? 'null' : usageJson(usage)}}`
  );
}

/** Whether a tier that a node names has no word in Responses. */
export function isTierLost(serviceTier: string | undefined): boolean {
  return serviceTier !== undefined && !tiers.has(serviceTier);
}

const tiers: ReadonlySet<string> = new Set(['auto', 'default', 'flex', 'scale', 'priority', 'fast']);

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

/** Has every member, because the SDKs' types require them, and a client that adds counts would get NaN. */
function usageJson({ prompt, cacheRead, cacheWrite, completion, reasoning }: ChatUsage): string {
  return (
    `{"input_tokens":${prompt}` +
    `,"input_tokens_details":{"cached_tokens":${cacheRead ?? 0},"cache_write_tokens":${cacheWrite ?? 0}}` +
    `,"output_tokens":${completion},"output_tokens_details":{"reasoning_tokens":${reasoning ?? 0}}` +
    `,"total_tokens":${prompt + completion}}`
  );
}

function seconds(now: () => number): number {
  return Math.floor(now() / 1_000);
}
