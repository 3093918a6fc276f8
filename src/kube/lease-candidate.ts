import { ApiError } from './api-error.ts';
import type { KubeClient } from './client.ts';
import type { Clock } from './clock.ts';
import { heldSpec, type Lease, readLease, releasedSpec } from './lease-record.ts';
import { resourcePath } from './paths.ts';
import { createObject, getObject, replaceObject } from './verbs.ts';

export interface LeaseCandidateOptions {
  client: KubeClient;
  namespace: string;
  /** Name of the Lease; it is created when missing. */
  name: string;
  identity: string;
  /** Labels of a Lease that is created. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** How long others wait for a holder that does not renew; called at each write. */
  leaseSeconds: () => number;
  /** Limit of each call. */
  timeoutMs: number;
  urgent?: boolean | undefined;
  /** Another holder was seen. */
  onNewLeader?: ((identity: string) => void) | undefined;
}

/** One process that wants to hold a Lease. */
export interface LeaseCandidate {
  /** Whether this candidate holds the lease, by its own clock. It turns false a third of the lease's time before others may take it. */
  isValid(): boolean;
  validForMs(): number;
  /** The holder of the lease when it was last read; empty if there was none. */
  holder(): string;
  /** Reads the Lease, to notice that another took it. */
  look(signal: AbortSignal): Promise<void>;
  /** Takes or renews the lease if that is allowed; `isValid` tells the outcome. */
  attempt(signal: AbortSignal): Promise<void>;
  /** Gives the lease up. It takes no signal, because it runs after the signal of the process aborted. */
  release(): Promise<void>;
}

const RENEW_SHARE = 2 / 3;
/**
 * Longest time, in seconds, that another holder is waited for without a renewal, unless four of our own terms are longer. A person who
 * may write a Lease could otherwise keep everybody from it for years.
 */
const MOST_SECONDS = 3_600;

/**
 * A candidate for a Lease. It judges by its own monotonic clock whether another holder's lease has expired: by the time since the
 * record last changed, never by the times in the record.
 */
export function leaseCandidate(options: LeaseCandidateOptions, clock: Clock): LeaseCandidate {
  const { client, namespace, name, identity, labels, timeoutMs, urgent } = options;
  const address = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace };
  const listPath = resourcePath(address);
  const path = resourcePath({ ...address, name });
  let known: Lease | undefined;
  let changedAt = 0;
  let leader: string | undefined;
  let validUntil = Number.NEGATIVE_INFINITY;

  function observe(lease: Lease) {
    const changed = JSON.stringify(lease.spec) !== JSON.stringify(known?.spec);
    if (changed || known === undefined) changedAt = clock.monotonicMs();
    known = lease;
    const holder = lease.spec?.holderIdentity ?? '';
    if (holder !== identity) validUntil = Number.NEGATIVE_INFINITY;
    if (holder !== '' && holder !== leader) {
      leader = holder;
      if (holder !== identity) options.onNewLeader?.(holder);
    }
  }

  function heldByOther(lease: Lease): boolean {
    const holder = lease.spec?.holderIdentity ?? '';
    const own = options.leaseSeconds();
    const seconds = Math.min(lease.spec?.leaseDurationSeconds || own, Math.max(MOST_SECONDS, 4 * own));
    return holder !== '' && holder !== identity && clock.monotonicMs() < changedAt + seconds * 1000;
  }

  async function write(spec: object, signal?: AbortSignal) {
    const call = { signal, timeoutMs, urgent };
    const meta = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
    const answer =
      known === undefined
        ? await createObject(client, listPath, { ...meta, metadata: { namespace, name, labels }, spec }, call)
        : await replaceObject(client, path, { ...meta, ...known, spec }, call);
    return readLease(answer);
  }

  async function read(signal: AbortSignal) {
    try {
      observe(readLease(await getObject(client, path, { signal, timeoutMs, urgent })));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      known = undefined;
    }
  }

  return {
    isValid: () => clock.monotonicMs() < validUntil,
    validForMs: () => Math.max(0, validUntil - clock.monotonicMs()),
    holder: () => known?.spec?.holderIdentity ?? '',
    look: read,

    async attempt(signal) {
      const holding = known?.spec?.holderIdentity === identity;
      if (!holding) await read(signal);
      if (known !== undefined && heldByOther(known)) return;
      const began = clock.monotonicMs();
      try {
        const seconds = options.leaseSeconds();
        observe(await write(heldSpec(known?.spec, identity, seconds, clock.wall()), signal));
        validUntil = began + seconds * 1000 * RENEW_SHARE;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        // Somebody else wrote or deleted the Lease, or our last write succeeded without an answer. Read it, and decide at
        // the next attempt.
        if (error.status !== 409 && error.status !== 404) throw error;
        await read(signal);
      }
    },

    async release() {
      validUntil = Number.NEGATIVE_INFINITY;
      if (known !== undefined) await write(releasedSpec(known.spec, clock.wall()));
    },
  };
}
