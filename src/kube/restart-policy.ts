import { ApiError } from './api-error.ts';
import { doublingBackoff } from './backoff.ts';

/** Why a watch was started again; a closed set, fit for a metric label. */
export type RestartReason =
  | 'closed'
  | 'error'
  | 'expired'
  | 'forbidden'
  | 'missing'
  | 'silence'
  | 'unauthorized';

/** The first row that applies gives the reason. */
const reasons: readonly (readonly [RestartReason, (error: ApiError) => boolean])[] = [
  ['expired', ({ status, reason }) => status === 410 || reason === 'Expired' || reason === 'Gone'],
  ['expired', ({ reason }) => reason === 'ResourceVersionTooLarge'],
  ['silence', ({ reason }) => reason === 'Silent'],
  ['unauthorized', ({ status }) => status === 401],
  ['forbidden', ({ status }) => status === 403],
  ['missing', ({ status }) => status === 404],
];

/** Why a watch ended; `fault` is undefined if the server closed it. */
export function restartReason(fault: unknown): RestartReason {
  if (fault === undefined) return 'closed';
  if (!(fault instanceof ApiError)) return 'error';
  return reasons.find(([, applies]) => applies(fault))?.[0] ?? 'error';
}

/** A watch that the server closed after this time ended normally. */
const livedMs = 60_000;
/** The longest wait after a normal end: it spreads the watches that a server ends at the same time. */
const resumeSpreadMs = 100;

/** How long to wait before a watch is started again. */
export interface RestartPolicy {
  /** The server sent an event, a bookmark or a complete list. */
  received(): void;
  /** The wait in milliseconds after a watch that lasted `ranMs` ended by `fault`. */
  waitMs(reason: RestartReason, fault: unknown, ranMs: number): number;
}

/** `random` gives numbers in [0, 1). */
export function restartPolicy(random: () => number): RestartPolicy {
  const backoff = doublingBackoff(random);
  let wasReached = true;
  let mayHurry = true;
  return {
    received() {
      backoff.reset();
      mayHurry = true;
    },
    waitMs(reason, fault, ranMs) {
      // At the first answer after an outage, mostly a 410, the waits begin again with the shortest: a long one would keep
      // revoked keys valid for half a minute more. Only once until something is received, because a server may keep failing.
      const isReached = !(fault instanceof ApiError && fault.status === 0);
      if (isReached && !wasReached && mayHurry) {
        backoff.reset();
        mayHurry = false;
      }
      wasReached = isReached;
      if (reason === 'closed' && ranMs > livedMs) {
        // A watch without changes may end normally without an event or a bookmark. That is no failure, so the next watch starts
        // at once: a key that is revoked now must not stay valid during a wait.
        backoff.reset();
        return random() * resumeSpreadMs;
      }
      return backoff.next(fault instanceof ApiError ? fault.retryAfterMs : undefined);
    },
  };
}
