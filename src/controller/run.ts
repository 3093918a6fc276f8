import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Log } from '../observe/log.ts';

import type { Claims } from '../store/claims.ts';
import type { GatewayReports } from '../store/gateway-reports.ts';
import type { Kind, Store } from '../store/store.ts';

import type { Pools } from '../upstream/pools.ts';
import type { Clock } from './clock.ts';
import { fencedStore } from './controller-store.ts';
import { followProofs } from './in-force/follow-proofs.ts';
import { Proofs } from './in-force/proofs.ts';
import { unlessInvalid } from './invalid-spec.ts';
import { keyReconcile } from './keys/reconcile.ts';
import { type ControllerMetrics, createControllerMetrics } from './metrics.ts';
import { Queue } from './queue.ts';
import { type Reconcile, type Reconciler, runWorkers } from './reconciler.ts';
import { sealingReconcile } from './sealing.ts';
import { servedHere } from './served-here.ts';
import { askOver } from './upstream-node/contact.ts';
import type { ContactLimits } from './upstream-node/contacts.ts';
import { nodeReconcile } from './upstream-node/reconcile.ts';
import { Waker } from './wake.ts';

export interface ControllerOptions {
  readonly store: Store;
  readonly pools: Pools;
  readonly log: Log;
  readonly registry: Registry;
  readonly clock: Clock;
  /** From 0 to 1, for jitter; `Math.random` outside of tests. */
  readonly random: () => number;
  /** `crypto.randomBytes` outside of tests. */
  readonly randomBytes: (size: number) => Uint8Array;
  /** What callers use, with its version segment; written into the Secrets of keys. */
  readonly gatewayURL: string;
  /** The home namespace: it has the sealing pair, and its nodes may serve keys of every namespace. */
  readonly homeNamespace: string;
  /** Workers for each kind; 4 by default. */
  readonly workers?: number | undefined;
  /** Syncs and health checks at one time; 32 in all and 16 for each host by default. */
  readonly contacts?: Partial<ContactLimits> | undefined;
  /** The reports of gateways; undefined where there are none (standalone). */
  readonly reports?: GatewayReports | undefined;
  /** Ends the controller. */
  readonly signal: AbortSignal;
  /** Asked before each write; false refuses it. Absent: always true (standalone). */
  readonly isLeaderValid?: () => boolean;
  /** The namespaces to act in. Absent: all (standalone). */
  readonly claims?: Claims | undefined;
}

const defaultWorkers = 4;
const defaultContacts: ContactLimits = { inAll: 32, perHost: 16 };
/** Every resource is reconciled about this often, in case a change was missed. */
const resyncMs = 10 * 3_600_000;

/**
 * Runs the controllers: they sync and check nodes, issue keys and keep the sealing pair. Waits for the store's first
 * complete list, then works until `signal` aborts, and resolves when the last worker has finished. Rejects only if `signal`
 * aborts before the store is complete. The caller does the leader election, and runs this while it leads.
 */
export async function runController(options: ControllerOptions): Promise<void> {
  const { log, clock, signal, workers = defaultWorkers } = options;
  const { claims } = options;
  const store = fencedStore(options.store, options.isLeaderValid ?? (() => true), claims);
  const metrics = createControllerMetrics(options.registry, clock.now);
  await store.whenSynced(signal);

  const nodes = controllerOf('upstreamnode', clock, metrics);
  const apiKeys = controllerOf('apikey', clock, metrics);
  const masterKeys = controllerOf('masterkey', clock, metrics);
  const sealing = controllerOf('sealing', clock, metrics);
  const { randomBytes, gatewayURL, homeNamespace } = options;
  const tools = { store, clock };
  const { reports } = options;
  const proofs = reports === undefined ? undefined : new Proofs(reports, monotonicMs);
  const keyTools = { ...tools, randomBytes, gatewayURL, homeNamespace, proofs };
  const guarded = (kind: Kind, reconcile: Reconcile): Reconcile =>
    servedHere(claims, unlessInvalid(kind, tools, reconcile));
  const reconcilers: Reconciler[] = [
    nodes.with(
      guarded(
        'UpstreamNode',
        nodeReconcile({
          store,
          ask: askOver(options.pools, clock.now),
          metrics,
          clock,
          log,
          queue: nodes.queue,
          release: (id) => options.pools.release(id),
          limits: { ...defaultContacts, ...options.contacts },
          signal,
        }),
      ),
    ),
    apiKeys.with(guarded('APIKey', keyReconcile('APIKey', keyTools))),
    masterKeys.with(guarded('MasterKey', keyReconcile('MasterKey', keyTools))),
    sealing.with(sealingReconcile(store)),
  ];

  const waker = new Waker(
    store,
    {
      UpstreamNode: nodes.queue,
      APIKey: apiKeys.queue,
      MasterKey: masterKeys.queue,
      Sealing: sealing.queue,
    },
    homeNamespace,
    claims,
  );
  const unsubscribe = waker.start();
  const cancelResync = every(
    clock,
    () => resyncMs * (0.9 + 0.2 * options.random()),
    () => waker.wakeAll('Background'),
  );
  const endReports =
    reports === undefined || proofs === undefined
      ? () => {}
      : followProofs({
          reports,
          proofs,
          queues: { APIKey: apiKeys.queue, MasterKey: masterKeys.queue },
          mayWrite: options.isLeaderValid ?? (() => true),
          clock,
          log,
          signal,
        });
  const stop = (): void => {
    for (const { queue } of reconcilers) queue.close();
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  const reconcileID = (): string => randomUUID();
  await Promise.all(
    reconcilers.map((reconciler) => runWorkers(reconciler, workers, { log, clock, reconcileID, signal })),
  );
  unsubscribe();
  endReports();
  cancelResync();
}

/** The clock that reports are timed by. */
const monotonicMs = (): number => performance.now();

interface Unfinished {
  readonly queue: Queue;
  with(reconcile: Reconcile): Reconciler;
}

function controllerOf(name: string, clock: Clock, metrics: ControllerMetrics): Unfinished {
  const observer = metrics.controller(name, () => queue.startTimes());
  const queue = new Queue(clock, observer.queue);
  return { queue, with: (reconcile) => ({ name, queue, observer, reconcile }) };
}

/** Calls `action` repeatedly, each time after the milliseconds that `wait` returns. Returns a function that stops it. */
function every(clock: Clock, wait: () => number, action: () => void): () => void {
  let cancel = clock.after(wait(), function again() {
    action();
    cancel = clock.after(wait(), again);
  });
  return () => cancel();
}
