import type { KubeClient } from './client.ts';
import { type Clock, pause, systemClock } from './clock.ts';
import { leaseCandidate } from './lease-candidate.ts';

/** What the work of the leader gets. */
export interface Leadership {
  /** Aborts when the work must end: at the stop of the process, or if the lease is lost. */
  signal: AbortSignal;
  /**
   * Whether the lease is still held. Check it before each write, because `signal` aborts late if the event loop stalls.
   * The API server does not check the lease, so a write must be harmless even if another process leads when it arrives.
   */
  isValid(): boolean;
}

export interface LeaderElectionOptions {
  client: KubeClient;
  namespace: string;
  /** Name of the Lease; it is created when missing. */
  name: string;
  /** Unique among all candidates, and different after each restart of a pod: `<pod>_<uuid>`. */
  identity: string;
  signal: AbortSignal;
  /** How long others wait for a leader that does not renew; 15 by default. The other times are shares of it. */
  leaseSeconds?: number | undefined;
  /** The work of the leader; it resolves after `signal` aborted and everything in flight has ended. */
  onStartedLeading: (leadership: Leadership) => Promise<void>;
  /** Called at once when the lease is lost, while the work is still ending. Usually the process should exit then. */
  onLost?: (() => void) | undefined;
  /** Another holder was seen. */
  onNewLeader?: ((identity: string) => void) | undefined;
  /** An attempt to get or renew the lease failed; it is tried again. */
  onError?: ((error: unknown) => void) | undefined;
  clock?: Clock | undefined;
  /** Numbers in [0, 1). */
  random?: (() => number) | undefined;
}

// controller-runtime's values: for 15 s a deadline of 10 s for renewals, and a try every 2 s.
const LEASE_SECONDS = 15;
const RETRY_SHARE = 2 / 15;
const CALL_SHARE = 1 / 3;

/**
 * Waits for the Lease, runs `onStartedLeading` while holding it, and releases it when the work has ended.
 *
 * Our own lease ends two thirds of its time after the start of the last renewal that succeeded, a third before others may
 * take it (`leaseCandidate`). Resolves to `lost`, or to `stopped` if `signal` aborted or the work ended.
 *
 * @throws the error that `onStartedLeading` rejects with, after the release
 */
export async function runLeaderElection(options: LeaderElectionOptions): Promise<'stopped' | 'lost'> {
  const { signal, clock = systemClock, random = Math.random } = options;
  const { leaseSeconds = LEASE_SECONDS } = options;
  const leaseMs = leaseSeconds * 1000;
  const call = { timeoutMs: leaseMs * CALL_SHARE, urgent: true };
  const candidate = leaseCandidate({ ...options, ...call, leaseSeconds: () => leaseSeconds }, clock);
  const retryMs = () => leaseMs * RETRY_SHARE * (1 + random() * 0.2);

  while (!signal.aborted && !candidate.isValid()) {
    await attempt(signal);
    if (!candidate.isValid()) await pause(clock, retryMs(), signal);
  }
  if (signal.aborted) {
    if (candidate.isValid()) await release();
    return 'stopped';
  }

  const lead = new AbortController();
  const ended = new AbortController();
  const lost = new AbortController();
  const lose = () => {
    if (lost.signal.aborted || ended.signal.aborted) return;
    const reason = new Error('the lease was lost');
    lost.abort(reason);
    lead.abort(reason);
    options.onLost?.();
  };
  const stop = () => lead.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });

  // The lease is renewed until the work has ended. Otherwise another leader would begin at the same time.
  const renewing = keepRenewed(AbortSignal.any([ended.signal, lost.signal]));
  try {
    await options.onStartedLeading({
      signal: lead.signal,
      isValid: () => !lost.signal.aborted && candidate.isValid(),
    });
  } finally {
    signal.removeEventListener('abort', stop);
    ended.abort();
    await renewing;
    if (!lost.signal.aborted && candidate.isValid()) await release();
  }
  return lost.signal.aborted ? 'lost' : 'stopped';

  async function keepRenewed(over: AbortSignal) {
    let cancel = clock.after(candidate.validForMs(), lose);
    while (!over.aborted) {
      await pause(clock, retryMs(), over);
      if (over.aborted) break;
      // The end of the work does not abort this call, because the release needs the version that the call writes.
      await attempt(lost.signal);
      cancel();
      if (candidate.isValid()) cancel = clock.after(candidate.validForMs(), lose);
      else lose();
    }
    cancel();
  }

  async function attempt(until: AbortSignal) {
    await candidate.attempt(until).catch((error) => {
      if (!until.aborted) options.onError?.(error);
    });
  }

  async function release() {
    await candidate.release().catch((error) => options.onError?.(error));
  }
}
