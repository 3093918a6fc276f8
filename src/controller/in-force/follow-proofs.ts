import type { Log } from '../../observe/log.ts';
import { type GatewayReports, goneReports } from '../../store/gateway-reports.ts';
import type { Clock } from '../clock.ts';
import type { Key } from '../keys/key.ts';
import type { Queue } from '../queue.ts';
import type { Proofs } from './proofs.ts';

/** Reports come many at a time, and each may concern thousands of keys. */
const gatherMs = 50;
const sweepMs = 5_000;

/**
 * Wakes the keys whose last change every gateway has applied now, and removes the reports of gateways that no longer exist. A
 * heartbeat wakes nothing. Returns a function that ends it.
 */
export function followProofs(options: {
  readonly reports: GatewayReports;
  readonly proofs: Proofs;
  readonly queues: { readonly [K in Key['kind']]: Queue };
  /** Whether this process may write still. */
  readonly mayWrite: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}): () => void {
  const { reports, proofs, queues, mayWrite, clock, log, signal } = options;
  let isGathering = false;
  const wake = (): void => {
    isGathering = false;
    for (const { kind, id } of proofs.proven()) queues[kind].add(id, 'Urgent');
  };
  const unsubscribe = reports.subscribe(() => {
    if (isGathering) return;
    isGathering = true;
    clock.after(gatherMs, wake);
  });
  let cancel = clock.after(sweepMs, sweep);
  function sweep(): void {
    cancel = clock.after(sweepMs, sweep);
    if (!mayWrite() || signal.aborted) return;
    for (const gone of goneReports(reports, performance.now())) {
      reports.remove(gone, signal).then(
        () => log.info({ gateway: gone.name }, 'Removed the report of a gateway that no longer exists'),
        // It was written again, or the API server refused: the next sweep decides again.
        (error: unknown) =>
          log.debug({ err: error, gateway: gone.name }, 'The report of a gateway was not removed'),
      );
    }
  }
  return () => {
    cancel();
    unsubscribe();
  };
}
