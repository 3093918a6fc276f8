import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { type Clock, pause } from '../../kube/clock.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { type LeaseCandidate, leaseCandidate } from '../../kube/lease-candidate.ts';
import type { ClaimMetrics, ClaimState } from '../../observe/claim-metrics.ts';
import type { Log } from '../../observe/log.ts';
import type { Claims } from '../claims.ts';
import { kinds } from '../resource-address.ts';
import type { Change, Store } from '../store.ts';
import { failureText } from './failure-text.ts';

const callMs = 10_000;
/** Waits after a failure other than a refusal, doubled each time. */
const retryMs = { first: 1_000, most: 30_000 };
/** Changes within this time are reported by one Event. */
const eventDelayMs = 2_000;
/** How many namespaces an Event names, and how many lines `remarks` has. */
const mostNamed = { event: 10, remarks: 100 };
/** Seconds that the claims of a namespace must last, so that their renewals are at most one in two seconds. */
const secondsPerNamespace = 6;

/** The Lease by which one installation claims the objects of a class in a namespace. */
function claimName(className: string | undefined): string {
  // A dot, because with a dash the class `controller` would use the Lease of the leader election.
  return className === undefined ? 'model-gateway' : `model-gateway.${className}`;
}

export interface NamespaceClaimsOptions {
  readonly client: KubeClient;
  readonly store: Store;
  /** Identifies the installation. */
  readonly homeNamespace: string;
  readonly className: string | undefined;
  /** How long others wait before they take the namespace of an installation that no longer renews its claim. */
  readonly claimSeconds: number;
  /** The Lease in the home namespace that the Events refer to. */
  readonly leaderLease: string;
  readonly events: EventRecorder;
  readonly log: Log;
  readonly metrics: ClaimMetrics;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface Claim {
  readonly candidate: LeaseCandidate;
  state: ClaimState;
  /** For `Other`: the home namespace of the installation that serves it. For `Unguarded`: why no claim can be made. */
  because: string;
  renewedMs: number;
  failures: number;
}

/**
 * The namespaces that this installation claims: one Lease in each that holds objects of its class. Of two installations that
 * serve the same objects, the one that holds the Lease acts, and the other does not. A claim is renewed at a third of
 * its time, and read five times as often. The claim of another installation is read 60 times in its time.
 *
 * If the API server refuses Leases in a namespace (a Role of an older release), the namespace is served without a claim, as older
 * releases did, and this is reported. Otherwise an upgrade would stop revocations and rotations there.
 */
export class NamespaceClaims implements Claims {
  readonly #options: NamespaceClaimsOptions;
  readonly #claims = new Map<string, Claim>();
  readonly #listeners = new Set<(namespace: string) => void>();
  readonly #unreported = new Set<string>();

  constructor(options: NamespaceClaimsOptions) {
    this.#options = options;
  }

  /** Claims every namespace that holds objects, now and from now on, until the signal aborts. */
  start(): void {
    const { store, metrics, signal } = this.#options;
    metrics.observe(() => [...this.#claims.values()].map((claim) => this.#stateOf(claim)));
    const unsubscribe = store.subscribe((change) => this.#notice(change));
    signal.addEventListener('abort', unsubscribe, { once: true });
    const namespaces = new Set<string>();
    for (const kind of kinds) {
      for (const { metadata } of store.list(kind)) namespaces.add(metadata.namespace);
    }
    for (const { metadata } of store.rejections?.() ?? []) namespaces.add(metadata.namespace);
    for (const namespace of namespaces) this.#begin(namespace);
  }

  acts(namespace: string): boolean {
    const claim = this.#claims.get(namespace);
    if (claim === undefined) return false;
    const state = this.#stateOf(claim);
    return state === 'Held' || state === 'Unguarded';
  }

  subscribe(gained: (namespace: string) => void): () => void {
    this.#listeners.add(gained);
    return () => this.#listeners.delete(gained);
  }

  /** Lines for `/readyz?verbose`. */
  remarks(): readonly string[] {
    const lines: string[] = [];
    for (const [namespace, { state, because }] of this.#claims) {
      if (state === 'Other') lines.push(`namespace ${namespace} is left alone: ${elsewhere(because)}`);
      if (state === 'Unguarded') lines.push(`namespace ${namespace} is served without a claim: ${because}`);
    }
    const more = lines.length - mostNamed.remarks;
    return more > 0 ? [...lines.slice(0, mostNamed.remarks), `and ${more} more namespaces`] : lines;
  }

  /** A claim that could not be renewed ends by our own clock before another installation may take it. */
  #stateOf({ state, candidate }: Claim): ClaimState {
    return state === 'Held' && !candidate.isValid() ? 'Pending' : state;
  }

  #notice(change: Change): void {
    if ('after' in change || change.kind === 'Rejection') this.#begin(change.namespace);
  }

  #begin(namespace: string): void {
    const { client, homeNamespace, className, clock, signal, log } = this.#options;
    if (this.#claims.has(namespace) || signal.aborted) return;
    const candidate = leaseCandidate(
      {
        client,
        namespace,
        name: claimName(className),
        identity: homeNamespace,
        labels: { 'app.kubernetes.io/managed-by': 'model-gateway' },
        leaseSeconds: () => this.#seconds(),
        timeoutMs: callMs,
      },
      clock,
    );
    const claim: Claim = { candidate, state: 'Pending', because: '', renewedMs: 0, failures: 0 };
    this.#claims.set(namespace, claim);
    // Rejects only by a mistake in this code, which is then logged.
    this.#keep(namespace, claim).catch((error: unknown) =>
      log.error({ namespace, err: error }, 'The claim of a namespace failed'),
    );
  }

  #seconds(): number {
    return Math.max(this.#options.claimSeconds, this.#claims.size * secondsPerNamespace);
  }

  async #keep(namespace: string, claim: Claim): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted && this.#holdsObjects(namespace)) {
      await this.#round(namespace, claim);
      const share = claim.state === 'Held' ? 15 : 60;
      const failedMs = Math.min(retryMs.first * 2 ** (claim.failures - 1), retryMs.most);
      const waitMs = (this.#seconds() * 1_000) / share;
      await pause(clock, claim.failures > 0 ? Math.min(failedMs, waitMs) : waitMs, signal);
    }
    if (signal.aborted) return;
    if (claim.candidate.isValid()) await claim.candidate.release().catch(() => {});
    this.#claims.delete(namespace);
    // An object may have been created during the release.
    if (this.#holdsObjects(namespace)) this.#begin(namespace);
  }

  #holdsObjects(namespace: string): boolean {
    const { store } = this.#options;
    for (const kind of kinds) {
      for (const _ of store.list(kind, namespace)) return true;
    }
    for (const { metadata } of store.rejections?.() ?? []) if (metadata.namespace === namespace) return true;
    return false;
  }

  async #round(namespace: string, claim: Claim): Promise<void> {
    const { clock, signal } = this.#options;
    const { candidate } = claim;
    const dueMs = claim.renewedMs + (this.#seconds() * 1_000) / 3;
    try {
      if (candidate.isValid()) await candidate.look(signal);
      if (!candidate.isValid() || candidate.holder() === '' || clock.monotonicMs() >= dueMs) {
        await candidate.attempt(signal);
        claim.renewedMs = clock.monotonicMs();
      }
      claim.failures = 0;
      if (candidate.isValid()) this.#turn(namespace, claim, 'Held', '');
      else if (candidate.holder() === this.#options.homeNamespace || candidate.holder() === '')
        claim.failures += 1;
      else this.#turn(namespace, claim, 'Other', candidate.holder());
    } catch (error) {
      if (signal.aborted) return;
      claim.failures += 1;
      const isRefused = error instanceof ApiError && error.status === 403;
      // A namespace that another installation serves is left alone until its Lease can be read again.
      if (isRefused && !candidate.isValid() && claim.state !== 'Other') {
        this.#turn(namespace, claim, 'Unguarded', failureText(error));
      }
    }
  }

  #turn(namespace: string, claim: Claim, state: ClaimState, because: string): void {
    const { log, homeNamespace } = this.#options;
    const before = { state: claim.state, because: claim.because, acted: isActing(claim.state) };
    Object.assign(claim, { state, because });
    if (before.state === state && (before.because === because || state === 'Unguarded')) return;
    if (state === 'Other') {
      log.warn(
        { namespace, servedBy: because },
        'Another installation serves this namespace; this one leaves its objects alone',
      );
    } else if (state === 'Unguarded') {
      log.warn(
        { namespace, reason: because },
        'The API server refuses the Lease that claims this namespace; it is served without a claim, so another installation may act there, too. Grant get, create and update on leases',
      );
    } else if (before.state !== 'Pending') {
      log.info({ namespace, homeNamespace }, 'This installation serves this namespace from now on');
    }
    if (before.state === 'Other' || state === 'Other') this.#reportSoon(namespace);
    if (before.acted || !isActing(state)) return;
    for (const gained of this.#listeners) gained(namespace);
  }

  /** One Event for all namespaces that changed at about the same time. */
  #reportSoon(namespace: string): void {
    const { clock, signal } = this.#options;
    this.#unreported.add(namespace);
    if (this.#unreported.size > 1) return;
    void pause(clock, eventDelayMs, signal).then(() => this.#report());
  }

  #report(): void {
    const { events, homeNamespace, leaderLease, signal } = this.#options;
    if (signal.aborted) return;
    const byHolder = new Map<string, string[]>();
    for (const namespace of this.#unreported) {
      const claim = this.#claims.get(namespace);
      if (claim === undefined) continue;
      const holder = claim.state === 'Other' ? claim.because : '';
      byHolder.set(holder, [...(byHolder.get(holder) ?? []), namespace]);
    }
    this.#unreported.clear();
    for (const [holder, namespaces] of byHolder) {
      const more = namespaces.length - mostNamed.event;
      const named = namespaces.slice(0, mostNamed.event).join(', ') + (more > 0 ? ` and ${more} more` : '');
      events.record({
        regarding: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          namespace: homeNamespace,
          name: leaderLease,
        },
        action: 'ClaimNamespaces',
        reason: holder === '' ? 'ServedHere' : 'ServedElsewhere',
        note: holder === '' ? `Serves ${named} from now on` : `Leaves ${named} alone: ${elsewhere(holder)}`,
        type: holder === '' ? 'Normal' : 'Warning',
      });
    }
  }
}

function isActing(state: ClaimState): boolean {
  return state === 'Held' || state === 'Unguarded';
}

function elsewhere(holder: string): string {
  return `the installation with the home namespace ${holder} serves the same objects there`;
}
