import { isDeepStrictEqual } from 'node:util';
import { conditionOf } from '../../resources/condition-of.ts';
import type { Condition } from '../../resources/conditions.ts';
import { type GatewayReports, silentMs } from '../../store/gateway-reports.ts';
import { isAtLeast } from '../../store/resource-version.ts';
import { lowestSeen, type Standing, standingOf, type Target } from '../../store/standing.ts';
import type { Observation } from '../conditions.ts';
import type { Key, KeyStatus } from '../keys/key.ts';

const type = 'InForce';
/** For so long a change is on its way: which gateways lack it is named after that. */
const graceMs = 10_000;
/** After that, a gateway may fall silent. Arriving reports are noticed at once. */
const recheckMs = silentMs + 1_000;
const mostNamed = 10;

/** A change of a key that not every gateway has applied yet. */
interface Pending extends Target {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  readonly hashes: KeyStatus['hashes'];
  readonly sinceMs: number;
}

/**
 * Decides the condition `InForce` of keys: whether every gateway has applied the last change of what a key opens.
 *
 * The version that gateways must reach is that of the object when the change was first seen here, and stays so while only
 * conditions change; else each status write, this condition's too, would set a new goal. After a restart it is the
 * version of the object then, which is later and so safe.
 */
export class Proofs {
  readonly #reports: GatewayReports;
  readonly #nowMs: () => number;
  readonly #pending = new Map<string, Pending>();

  /** `nowMs` is a monotonic clock in milliseconds. */
  constructor(reports: GatewayReports, nowMs: () => number) {
    this.#reports = reports;
    this.#nowMs = nowMs;
  }

  /** The condition for a status with these hashes; undefined where no gateway reports, or nothing was ever observed. */
  observe(key: Key, hashes: KeyStatus['hashes']): Observation | undefined {
    const id = idOf(key);
    const { uid, generation, namespace, resourceVersion } = key.metadata;
    const before = conditionOf(key.status?.conditions, type);
    if (!this.#isReported()) {
      this.#pending.delete(id);
      return undefined;
    }
    // The write that changes them has no version yet. Its arrival leads here again.
    if (!isDeepStrictEqual(hashes ?? [], key.status?.hashes ?? [])) {
      this.#pending.delete(id);
      return applying;
    }
    const isObserved = key.status?.observedGeneration === generation;
    const known = this.#pending.get(id);
    if (isObserved && known === undefined && before === undefined) return undefined;
    if (isObserved && before?.status === 'True' && before.observedGeneration === generation) {
      this.#pending.delete(id);
      return observationOf(before);
    }
    const isSame =
      known?.uid === uid && known?.generation === generation && isDeepStrictEqual(known?.hashes, hashes);
    const pending: Pending =
      known !== undefined && isSame
        ? known
        : {
            kind: key.kind,
            namespace,
            version: resourceVersion ?? '',
            uid,
            generation,
            hashes,
            sinceMs: this.#nowMs(),
          };
    this.#pending.set(id, pending);
    const standing = this.#standing(pending);
    if (isComplete(standing)) return observation(standing);
    return this.#nowMs() - pending.sinceMs < graceMs ? applying : observation(standing);
  }

  /** How long until the condition of a key may change although no report arrives; undefined if it waits for nothing. */
  recheckMs(kind: Key['kind'], id: string): number | undefined {
    const pending = this.#pending.get(`${kind}/${id}`);
    if (pending === undefined) return undefined;
    const ageMs = this.#nowMs() - pending.sinceMs;
    return ageMs < graceMs ? graceMs - ageMs + 1 : recheckMs;
  }

  forget(kind: Key['kind'], id: string): void {
    this.#pending.delete(`${kind}/${id}`);
  }

  /** The keys that wait, and that all gateways have applied now. Costs nothing while none waits. */
  *proven(): Iterable<{ readonly kind: Key['kind']; readonly id: string }> {
    // Once for each kind and namespace: 100,000 keys may wait.
    const places = new Map<string, string | undefined>();
    for (const [id, pending] of this.#pending) {
      const place = `${pending.kind}/${pending.namespace}`;
      if (!places.has(place)) places.set(place, this.#lowest(pending));
      const lowest = places.get(place);
      if (lowest === undefined || !isAtLeast(lowest, pending.version)) continue;
      const kind = pending.kind === 'MasterKey' ? 'MasterKey' : 'APIKey';
      yield { kind, id: id.slice(kind.length + 1) };
    }
  }

  #lowest(target: Target): string | undefined {
    if (this.#reports.unreported().length > 0) return undefined;
    return lowestSeen(target, this.#reports.list() ?? []);
  }

  #isReported(): boolean {
    return (this.#reports.list() ?? []).length > 0;
  }

  #standing(target: Target): Standing {
    return standingOf(target, this.#reports.list() ?? [], this.#reports.unreported(), this.#nowMs());
  }
}

function idOf({ kind, metadata: { namespace, name } }: Key): string {
  return `${kind}/${namespace}/${name}`;
}

const applying: Observation = {
  type,
  status: 'False',
  reason: 'Applying',
  message: 'The gateways are applying the last change of the key.',
};

function isComplete({ applied, pending, silent }: Standing): boolean {
  return applied.length > 0 && pending.length + silent.length === 0;
}

function observation(standing: Standing): Observation {
  const { applied, pending, silent } = standing;
  const count = `${applied.length}/${applied.length + pending.length + silent.length} gateways`;
  if (isComplete(standing)) return { type, status: 'True', reason: 'Applied', message: count };
  const waits = pending.length === 0 ? '' : `; pending: ${named(pending)}`;
  if (silent.length === 0) return { type, status: 'False', reason: 'Applying', message: `${count}${waits}` };
  const message = `${count}${waits}; no report for 45 s: ${named(silent)}. It may still accept the key as it was.`;
  return { type, status: 'Unknown', reason: 'GatewaySilent', message };
}

function named(names: readonly string[]): string {
  const rest = names.length > mostNamed ? ' and others' : '';
  return names.slice(0, mostNamed).join(', ') + rest;
}

function observationOf({ status, message }: Condition): Observation {
  return { type, status, reason: 'Applied', message };
}
