import type { Log } from '../observe/log.ts';
import { StoreError, type StoreErrorReason } from '../store/store.ts';
import type { Clock } from './clock.ts';
import type { ControllerObserver } from './metrics.ts';
import type { Queue } from './queue.ts';
import { TerminalError } from './terminal-error.ts';

/** What one reconcile works with. `signal` aborts at shutdown and after the time that a reconcile may take. */
export interface ReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** `log.debug` for frequent messages: no child logger is made if the level is not enabled. */
  readonly debug: (fields: object, message: string) => void;
}

/** When to reconcile again although nothing changed. */
interface ReconcileOutcome {
  readonly requeueAfterMs?: number;
}

/**
 * Reconciles one resource (`namespace/name`): reads its current state, decides, writes. Level-based: it does not know what
 * triggered it. Throws to be retried with a growing wait; throws TerminalError to wait until something changes.
 */
export type Reconcile = (id: string, context: ReconcileContext) => Promise<ReconcileOutcome>;

/** One controller: a name for logs and metrics, its queue and what it does with an id. */
export interface Reconciler {
  readonly name: string;
  readonly queue: Queue;
  readonly observer: ControllerObserver;
  readonly reconcile: Reconcile;
}

const reconcileTimeoutMs = 60_000;

/** Runs `count` workers until the queue is closed. Resolves when the last has finished its reconcile. Never rejects. */
export async function runWorkers(
  reconciler: Reconciler,
  count: number,
  options: { log: Log; clock: Clock; reconcileID: () => string; signal: AbortSignal },
): Promise<void> {
  reconciler.observer.workers(count);
  await Promise.all(Array.from({ length: count }, () => work(reconciler, options)));
}

async function work(
  reconciler: Reconciler,
  options: { log: Log; clock: Clock; reconcileID: () => string; signal: AbortSignal },
): Promise<void> {
  const { queue } = reconciler;
  const limit = reconcileLimit(options.signal, options.clock, reconcileTimeoutMs);
  let yielded = performance.now();
  for (let id = await queue.take(); id !== undefined; id = await queue.take()) {
    const signal = limit.begin();
    await reconcileOnce(reconciler, id, options, signal);
    limit.end();
    queue.done(id);
    // Reconciles without I/O do not yield to the event loop, so 100,000 keys in a row would block a standalone gateway.
    if (performance.now() - yielded > longestTurnMs) {
      await new Promise((resolve) => setImmediate(resolve));
      yielded = performance.now();
    }
  }
}

const longestTurnMs = 5;

const racedReasons: ReadonlySet<StoreErrorReason> = new Set(['Conflict', 'NotFound', 'AlreadyExists']);

async function reconcileOnce(
  { name, queue, observer, reconcile }: Reconciler,
  id: string,
  {
    log,
    clock,
    reconcileID,
    signal,
  }: { log: Log; clock: Clock; reconcileID: () => string; signal: AbortSignal },
  limit: AbortSignal,
): Promise<void> {
  const started = clock.now();
  const seconds = (): number => (clock.now() - started) / 1_000;
  const [namespace, resource] = id.split('/');
  // Created at first use, because most reconciles log nothing and a child logger takes memory.
  let child: Log | undefined;
  const own = (): Log => {
    child ??= log.child({ controller: name, namespace, name: resource, reconcileID: reconcileID() });
    return child;
  };
  observer.started();
  try {
    const { requeueAfterMs } = await reconcile(id, {
      signal: limit,
      get log() {
        return own();
      },
      debug: (fields, message) => {
        if (log.isLevelEnabled('debug')) own().debug(fields, message);
      },
    });
    queue.forgive(id);
    if (requeueAfterMs !== undefined) queue.addAfter(id, requeueAfterMs);
    observer.ended(requeueAfterMs === undefined ? 'success' : 'requeue_after', false, seconds());
  } catch (error) {
    const terminal = error instanceof TerminalError;
    // Another writer was first, so the id is reconciled again with the new state. This is normal, not an error in metrics and log.
    const raced = error instanceof StoreError && racedReasons.has(error.reason);
    observer.ended(raced ? 'requeue_after' : 'error', terminal, seconds());
    if (signal.aborted) return;
    own()[raced ? 'debug' : 'error']({ err: error }, 'Reconcile failed');
    if (!terminal) queue.retry(id, error instanceof StoreError ? error.retryAfterMs : undefined);
  }
}

interface ReconcileLimit {
  /** The signal of the reconcile that begins now. */
  begin(): AbortSignal;
  end(): void;
}

/**
 * The signals of one worker's reconciles, one after the other: each aborts with `signal`, or `ms` after its reconcile began.
 * Many reconciles in a row share one signal: with one for each of 100,000 keys, 50 MB stayed allocated.
 * `AbortSignal.timeout` is not used because its timer stays for the whole time.
 */
function reconcileLimit(signal: AbortSignal, clock: Clock, ms: number): ReconcileLimit {
  let uses = 0;
  let current = new AbortController();
  let unlink = (): void => {};
  let cancel = (): void => {};

  const renew = (): void => {
    unlink();
    const fresh = new AbortController();
    const stop = (): void => fresh.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    unlink = () => signal.removeEventListener('abort', stop);
    current = fresh;
    uses = 0;
  };
  const expire = (): void => current.abort(new Error(`The reconcile took longer than ${ms / 1_000} s`));
  renew();
  return {
    begin() {
      uses += 1;
      // A new signal drops the listeners that reconciles did not remove, so that they do not accumulate.
      if (current.signal.aborted || uses > mostUses) renew();
      cancel = clock.after(ms, expire);
      return current.signal;
    },
    end: () => cancel(),
  };
}

const mostUses = 100;
