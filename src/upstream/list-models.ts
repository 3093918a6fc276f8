import type { UpstreamConnection } from './connection.ts';
import { UpstreamError } from './error.ts';
import { fetchModels, type ModelsAnswer } from './fetch-models.ts';
import type { Window } from './listed-window.ts';
import { readModelNames } from './model-names.ts';
import { withVersion } from './paths.ts';
import type { Pool } from './pool.ts';
import { retryAfterSeconds } from './retry-after.ts';

/** How an attempt to list a node's models ended. Messages are safe to show. */
export type ListOutcome =
  | {
      readonly kind: 'models';
      readonly names: string[];
      /** The windows that the node tells, by name. */
      readonly windows: ReadonlyMap<string, Window>;
      /** How many entries were left out because their name cannot be used. */
      readonly skipped: number;
      /** More than `maxModels` were listed, or more pages than are read; the rest is left out. */
      readonly truncated: boolean;
    }
  | StatusOutcome
  /** An answer of status 2xx that is no model list. */
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'failed'; readonly error: UpstreamError };

interface StatusOutcome {
  readonly kind: 'status';
  readonly status: number;
  readonly retryAfterSeconds?: number;
  /** After a 404: the base URL with `/v1`, if there is a model listing below it. */
  readonly versionedBaseURL?: string;
}

/** Most pages that are read; Anthropic returns up to 1,000 models in each page but the first. */
const maxPages = 20;
/** Most bytes of the body that a health check reads so that its connection can be reused. */
const maxHealthBytes = 1024 * 1024;

/**
 * Lists a node's models by `GET {baseURL}/models`, following `has_more`. `maxBytes` and `timeoutMs` apply to
 * all pages together. After a 404 from a base URL without a version segment, `/v1/models` is requested once, within the same
 * bounds, to tell the user what may be missing. A status other than 2xx, redirects included, is the outcome `status`. Rejects
 * only with the signal's reason. `now` returns ms since the epoch, for a `Retry-After` that is a date.
 */
export async function listModels(
  pool: Pool,
  connection: UpstreamConnection,
  limits: { readonly maxBytes: number; readonly maxModels: number; readonly timeoutMs: number },
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<ListOutcome> {
  const deadline = performance.now() + limits.timeoutMs;
  const names = new Set<string>();
  const windows = new Map<string, Window>();
  let bytes = 0;
  let skipped = 0;
  let after: string | undefined;
  const listedModels = (kept: string[], truncated: boolean): ListOutcome => ({
    kind: 'models',
    names: kept,
    windows,
    skipped,
    truncated,
  });
  for (let page = 0; page < maxPages; page += 1) {
    const answer = await fetchModels(
      pool,
      connection,
      {
        maxBytes: limits.maxBytes - bytes,
        timeoutMs: Math.max(1, deadline - performance.now()),
        keep: true,
      },
      signal,
      after === undefined ? {} : { query: `limit=1000&after_id=${encodeURIComponent(after)}` },
    );
    if (answer instanceof UpstreamError) return { kind: 'failed', error: answer };
    const refusal = refusalOf(answer, limits.maxBytes, now);
    if (refusal?.kind === 'status' && refusal.status === 404 && page === 0) {
      const timeoutMs = Math.max(1, deadline - performance.now());
      const versionedBaseURL = await listedBelowVersion(pool, connection, { ...limits, timeoutMs }, signal);
      return { ...refusal, ...(versionedBaseURL === undefined ? {} : { versionedBaseURL }) };
    }
    if (refusal !== undefined) return refusal;
    const listing = readModelNames(answer.body, limits.maxModels);
    if (listing.kind === 'invalid') return listing;
    bytes += answer.body.length;
    skipped += listing.skipped;
    const before = names.size;
    for (const name of listing.names) names.add(name);
    for (const [name, window] of listing.windows) if (!windows.has(name)) windows.set(name, window);
    if (listing.truncated || names.size > limits.maxModels) {
      return listedModels([...names].slice(0, limits.maxModels), true);
    }
    // Otherwise a node that answers `has_more` without new names would be asked indefinitely.
    if (listing.after === undefined || names.size === before) {
      return listedModels([...names], false);
    }
    after = listing.after;
  }
  return listedModels([...names], true);
}

/** The base URL with `/v1`, if models are listed there or only the credential is refused. */
async function listedBelowVersion(
  pool: Pool,
  connection: UpstreamConnection,
  limits: { readonly maxBytes: number; readonly maxModels: number; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<string | undefined> {
  const versioned = withVersion(connection.baseURL);
  if (versioned === undefined) return undefined;
  const { maxBytes, maxModels, timeoutMs } = limits;
  const asked = { path: '/v1/models' } as const;
  const answer = await fetchModels(pool, connection, { maxBytes, timeoutMs, keep: true }, signal, asked);
  if (answer instanceof UpstreamError) return undefined;
  if (answer.status === 401 || answer.status === 403) return versioned;
  if (answer.status < 200 || answer.status > 299 || !answer.complete || answer.headers.isEncoded)
    return undefined;
  const listing = readModelNames(answer.body, maxModels);
  return listing.kind === 'invalid' || listing.names.length === 0 ? undefined : versioned;
}

/**
 * Checks by `GET {baseURL}/models` whether the node answers within `timeoutMs`; the body is discarded. The result is the
 * status in the head, even if the body is cut off. Rejects only with the signal's reason.
 */
export async function checkHealth(
  pool: Pool,
  connection: UpstreamConnection,
  timeoutMs: number,
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<StatusOutcome | { readonly kind: 'failed'; readonly error: UpstreamError }> {
  const limits = { maxBytes: maxHealthBytes, timeoutMs, keep: false };
  const answer = await fetchModels(pool, connection, limits, signal);
  return answer instanceof UpstreamError ? { kind: 'failed', error: answer } : statusOutcome(answer, now);
}

function refusalOf(answer: ModelsAnswer, maxBytes: number, now: () => number): ListOutcome | undefined {
  if (answer.status < 200 || answer.status > 299) return statusOutcome(answer, now);
  if (!answer.complete)
    return { kind: 'invalid', message: `the model list is larger than ${maxBytes} bytes` };
  if (answer.headers.isEncoded) {
    return {
      kind: 'invalid',
      message: 'the model list is compressed although the request asked for identity',
    };
  }
  if (/^text\/html/i.test(answer.headers.get('content-type') ?? '')) {
    return {
      kind: 'invalid',
      message:
        'the answer is a web page, not a model list; check that the base URL includes the version segment',
    };
  }
  return undefined;
}

function statusOutcome({ status, headers }: ModelsAnswer, now: () => number): StatusOutcome {
  const seconds = retryAfterSeconds(headers, now());
  return { kind: 'status', status, ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }) };
}
