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
  /** `log.debug`, for what most reconciles say: where nobody reads that much, no log is made for it. */
  readonly debug: (fields: object, message: string) => void;
}

/** When to look again although nothing changed. */
interface ReconcileOutcome {
  readonly requeueAfterMs?: number;
}

/**
 * Makes one resource (`namespace/name`) true: reads it as it is now, decides, writes. Level-based: what woke it is not
 * told. Throws to be tried again with a growing wait; throws TerminalError to be left alone until something changes.
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

/** Runs `count` workers until the queue is closed; settles when the last has finished what it was at. Never rejects. */
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
    // A reconcile that waits for nothing never lets other work in; 100,000 keys in a row would stop a standalone gateway.
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
  // Made when first used: most reconciles of 100,000 keys have nothing to say, and a child logger is not small.
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
    observer.ended('error', terminal, seconds());
    if (signal.aborted) return;
    // Somebody else wrote first: look at what is there now. Expected, so no error in the log.
    const raced = error instanceof StoreError && racedReasons.has(error.reason);
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
 * The signals of one worker's reconciles, one after the other: each aborts with `signal` or `ms` after its beginning.
 * One signal serves many in a row: 100,000 keys, each with one of its own, left 50 MB behind. Not `AbortSignal.timeout`
 * either: what that sets lives on for the whole time.
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
      // What a reconcile left listening must not add up.
      if (current.signal.aborted || uses > mostUses) renew();
      cancel = clock.after(ms, expire);
      return current.signal;
    },
    end: () => cancel(),
  };
}

const mostUses = 100;
