import { type Clock, pause } from '../../kube/clock.ts';
import type { RestartReason } from '../../kube/restart-policy.ts';
import type { Log } from '../../observe/log.ts';
import type { ListStanding } from '../../observe/store-metrics.ts';
import { failureText } from './failure-text.ts';

/** The most missing lists that `missing` names. */
const mostNamed = 4;
/** The most lost namespaces that `remarks` names. */
const mostRemarks = 100;

/** Milliseconds after which a list that keeps failing is lost, or its content is dropped. */
export interface Patience {
  /** A list that is refused (403) is lost: permissions that were granted a moment ago may not be in force yet. */
  readonly refusedMs: number;
  /** A list that fails in any other way is lost. */
  readonly failingMs: number;
  /** A list that is refused (403) loses the content that was read before. */
  readonly dropMs: number;
}

export const defaultPatience: Patience = { refusedMs: 2_000, failingMs: 30_000, dropMs: 300_000 };

/**
 * What a list is for. `Resources`: our kinds; a namespace is lost with any of them. `Sealing`: also waited for at the
 * start. `Wakes`: Secrets' metadata, which only say that something changed, and are not waited for.
 */
export type Purpose = 'Resources' | 'Sealing' | 'Wakes';

/** Takes the reports of the code that follows one list and its watch. */
export interface FollowedList {
  /** A complete list is in force. */
  filled(): void;
  /** The API server accepted the watch. */
  opened(): void;
  /** An event, a bookmark or a list was received. */
  received(): void;
  /** The list or watch ended and starts again. Returns whether the failure is another than the last one, and so worth a warning. */
  restarts(reason: RestartReason, error: unknown): boolean;
  /** Whether the list has been refused (403) without a break for so long that its content must be dropped. */
  mayBeDropped(): boolean;
  /** The content of the list was dropped. */
  dropped(): void;
  /** It is no longer followed. */
  ended(): void;
}

interface State {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly purpose: Purpose;
  isComplete: boolean;
  receivedAtMs: number;
  failure: Failure | undefined;
}

interface Failure {
  reason: RestartReason;
  error: unknown;
  /** Monotonic times of the first and the last failure in a row. */
  sinceMs: number;
  lastMs: number;
  refusedSinceMs: number | undefined;
}

/**
 * The lists that a store follows: which are complete, which fail and since when. A namespace whose lists are refused or keep
 * failing is lost: it is logged once, and the others are served without it. This needs another namespace that works: if
 * none does, the API server is away or all permissions were removed, and the process waits.
 */
export class FollowedLists {
  readonly #states = new Set<State>();
  /** The namespaces that were reported as lost, and why. */
  readonly #lost = new Map<string, string>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #patience: Patience;
  readonly #signal: AbortSignal;

  constructor(options: {
    log: Log;
    clock: Clock;
    /** Milliseconds since 1970. */
    now: () => number;
    patience: Patience;
    signal: AbortSignal;
  }) {
    this.#log = options.log;
    this.#clock = options.clock;
    this.#now = options.now;
    this.#patience = options.patience;
    this.#signal = options.signal;
  }

  /** Resolves when every list that is waited for is complete, or lost while another namespace works. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Adds the list of a kind, in one namespace or in all. Add all of them before the first reports. */
  add(kind: string, namespace: string | undefined, purpose: Purpose): FollowedList {
    const state: State = {
      kind,
      namespace,
      purpose,
      isComplete: false,
      receivedAtMs: this.#now(),
      failure: undefined,
    };
    this.#states.add(state);
    const works = (): void => {
      if (state.failure === undefined) return;
      state.failure = undefined;
      this.#judge();
    };
    return {
      filled: () => {
        state.isComplete = true;
        state.failure = undefined;
        this.#judge();
      },
      opened: works,
      received: () => {
        state.receivedAtMs = this.#now();
        works();
      },
      restarts: (reason, error) => {
        if (reason !== 'closed' && reason !== 'expired') return this.#failed(state, reason, error);
        works();
        return false;
      },
      mayBeDropped: () => {
        const since = state.failure?.refusedSinceMs;
        return (
          state.isComplete &&
          since !== undefined &&
          this.#clock.monotonicMs() - since >= this.#patience.dropMs &&
          this.working(state.namespace).length > 0
        );
      },
      dropped: () => {
        state.isComplete = false;
        this.#log.warn(
          { kind: state.kind, namespace: state.namespace },
          'The API server keeps refusing this list; its content was dropped',
        );
      },
      ended: () => {
        this.#states.delete(state);
        if (namespace !== undefined) this.#lost.delete(namespace);
        this.#judge();
      },
    };
  }

  /** The namespaces, other than `beside`, whose lists of our kinds are all complete and do not fail. */
  working(beside?: string): (string | undefined)[] {
    const names = new Map<string | undefined, boolean>();
    for (const state of this.#states) {
      if (state.purpose !== 'Resources') continue;
      const works = state.isComplete && state.failure === undefined;
      names.set(state.namespace, works && (names.get(state.namespace) ?? true));
    }
    const others = [...names].filter(([name, works]) => works && (beside === undefined || name !== beside));
    return others.map(([name]) => name);
  }

  /** Which lists `ready` waits for, and the last failure; undefined if none. */
  missing(): string | undefined {
    const missing = [...this.#states].filter(({ isComplete, purpose }) => !isComplete && purpose !== 'Wakes');
    if (missing.length === 0) return undefined;
    const names = missing.map(
      ({ kind, namespace }) =>
        `${kind} in ${namespace === undefined ? 'all namespaces' : `namespace ${namespace}`}`,
    );
    const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : '';
    const named = `${names.slice(0, mostNamed).join(', ')}${more}`;
    const failed = missing
      .filter(({ failure }) => failure !== undefined)
      .sort((a, b) => (b.failure?.lastMs ?? 0) - (a.failure?.lastMs ?? 0))[0];
    if (failed === undefined) return named;
    return `${named}; last failure, of ${failed.kind}: ${failureText(failed.failure?.error)}`;
  }

  /** A line for each namespace that is lost. */
  remarks(): readonly string[] {
    const lines = [...this.#lost].map(([namespace, why]) => `namespace ${namespace} is lost: ${why}`);
    const more = lines.length - mostRemarks;
    return more > 0 ? [...lines.slice(0, mostRemarks), `and ${more} more namespaces`] : lines;
  }

  /** Each list as it is now, for metrics. */
  *standings(): Iterable<ListStanding> {
    for (const state of this.#states) {
      const { kind, namespace, isComplete, receivedAtMs, purpose } = state;
      yield {
        kind,
        namespace: purpose === 'Resources' ? namespace : undefined,
        isComplete,
        receivedAtMs,
        isLost: this.#isLost(state),
      };
    }
  }

  #failed(state: State, reason: RestartReason, error: unknown): boolean {
    const now = this.#clock.monotonicMs();
    const before = state.failure;
    state.failure = {
      reason,
      error,
      sinceMs: before?.sinceMs ?? now,
      lastMs: now,
      refusedSinceMs: reason === 'forbidden' ? (before?.refusedSinceMs ?? now) : undefined,
    };
    const isNew = before?.reason !== reason;
    if (isNew) {
      const { refusedMs, failingMs } = this.#patience;
      const waitMs = reason === 'forbidden' ? refusedMs : failingMs - (now - state.failure.sinceMs);
      void pause(this.#clock, waitMs, this.#signal).then(() => this.#judge());
    }
    this.#judge();
    // The texts are compared, too, because many different failures have the reason `error`.
    return isNew || failureText(before?.error) !== failureText(error);
  }

  #isLost({ failure }: State): boolean {
    if (failure === undefined) return false;
    const now = this.#clock.monotonicMs();
    const { refusedMs, failingMs } = this.#patience;
    if (failure.refusedSinceMs !== undefined && now - failure.refusedSinceMs >= refusedMs) return true;
    return now - failure.sinceMs >= failingMs;
  }

  /** Logs which namespaces were lost or recovered, and resolves `ready` when nothing is waited for any more. */
  #judge(): void {
    if (this.#signal.aborted) return;
    const lost = new Map<string, [State, ...State[]]>();
    // The namespaces of a selector are listed before there is anything to wait for.
    let isReady = [...this.#states].some(({ purpose }) => purpose !== 'Wakes');
    const works = this.working().length > 0;
    for (const state of this.#states) {
      const isLost = this.#isLost(state);
      if (!state.isComplete && state.purpose !== 'Wakes' && !(isLost && works)) isReady = false;
      const { namespace } = state;
      if (!isLost || namespace === undefined || state.purpose !== 'Resources') continue;
      const others = lost.get(namespace);
      if (others === undefined) lost.set(namespace, [state]);
      else others.push(state);
    }
    if (works) this.#report(lost);
    if (isReady) this.#ready.resolve();
  }

  #report(lost: ReadonlyMap<string, readonly [State, ...State[]]>): void {
    for (const [namespace, states] of lost) {
      const [{ kind, failure }] = states;
      if (!this.#lost.has(namespace)) {
        this.#log.warn(
          { namespace, kind, err: failure?.error },
          states.every(({ isComplete }) => isComplete)
            ? 'A namespace can no longer be followed; its last content stays in force, the other namespaces are served'
            : 'A namespace cannot be read and is served as empty; the other namespaces are served',
        );
      }
      this.#lost.set(namespace, causesOf(states));
    }
    for (const namespace of this.#lost.keys()) {
      if (lost.has(namespace)) continue;
      this.#lost.delete(namespace);
      this.#log.info({ namespace }, 'A namespace that was lost is followed again');
    }
  }
}

/** The kinds that fail, with the reason: those that fail for the same reason share it. */
function causesOf(states: readonly State[]): string {
  const kinds = new Map<string, string[]>();
  for (const { kind, failure } of states) {
    const why = failureText(failure?.error);
    kinds.set(why, [...(kinds.get(why) ?? []), kind]);
  }
  return [...kinds].map(([why, names]) => `${names.join(', ')}: ${why}`).join('; ');
}
