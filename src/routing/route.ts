import type { Candidate, KeyEntry, NodeEntry, ServedModel, View } from '../store/store.ts';
import type { CallerFormat } from './caller-format.ts';
import { isDemoted } from './demoted.ts';
import { type RouteRefusal, usableCandidates } from './filter.ts';
import type { LoadStates } from './load-states.ts';
import { type Eligible, pickByWeight, pickLeastLoaded } from './pick-by-weight.ts';
import { pickForSession } from './pick-for-session.ts';
import { sessionHash } from './session-hash.ts';
import { isNative, type Shares, type Tier, tiersOf } from './tiers.ts';

/** `closed`: use the node. `probe`: the circuit's time is over and one request may try the node (call `claim`). `open`: a last resort. */
export type CircuitState = 'closed' | 'probe' | 'open';

/** Permits one attempt at a time to try a node whose circuit is half-open. Compared by identity. */
export type Probe = Readonly<Record<never, never>>;

/** What routing reads from a gateway's circuits. */
export interface CircuitStates {
  state(nodeId: string, model: string): CircuitState;
  /** Takes the probes of the half-open circuits of this model's node and model; undefined if there is none. */
  claim(nodeId: string, model: string): Probe | undefined;
}

/** A candidate, and the probe that the attempt on it holds. */
export type PickedCandidate = Candidate & { readonly probe?: Probe };

/** The node to try next. */
export interface Pick {
  readonly candidate: PickedCandidate;
  /** Whether the node speaks the caller's format; otherwise the request is converted. */
  readonly native: boolean;
}

/**
 * Whether the request prefers nodes that speak its format: not yet known, no preference, before other nodes of the same
 * priority, or only such nodes.
 */
export type NativeWish = 'unknown' | 'any' | 'preferred' | 'only';

/** What a request has tried: single models of nodes, and whole nodes. */
export interface Tried {
  has(candidate: Candidate): boolean;
  /** The node at which the request has a place already, although it is full. */
  readonly held?: string | undefined;
  /** The full nodes (ids) that the request waits for no longer. */
  readonly givenUp?: ReadonlySet<string> | undefined;
}

/** Every node of the next priority is full: the request may wait for one of these. */
export interface FullNodes {
  readonly full: readonly NodeEntry[];
}

export interface Router {
  /**
   * The next node for this request: healthy ones first by priority, within one priority at random by weight or, if the
   * request names its session, in the session's order; then the demoted ones in the same way. What is in `tried` is left out. Returns undefined if no node is left, a refusal if
   * no node may take the request at all, 'ask' if the choice depends on a `wish` that is still unknown, and the full nodes of a priority
   * that has no others. Reads the newest
   * state at each call, so a node that was disabled since the last call is not tried.
   */
  next(
    model: string,
    key: KeyEntry,
    format: CallerFormat,
    tried: Tried,
    wish?: NativeWish,
    session?: string,
  ): Pick | RouteRefusal | FullNodes | 'ask' | undefined;
}

/** How the requests of one priority are spread that name no session: at random by weight, or also by the requests under way. */
export type Balance = 'Weighted' | 'LeastLoaded';

/** Most audiences whose plans are cached for one name; more would only cost memory. */
const mostPlans = 1000;
/** `now` is in milliseconds since 1970, `random` in [0, 1). */
export function createRouter(options: {
  view: View;
  circuits: CircuitStates;
  loads: LoadStates;
  balance?: Balance;
  homeNamespace: string;
  random: () => number;
  now: () => number;
}): Router {
  const { view, circuits, loads, balance = 'Weighted', homeNamespace, random, now } = options;
  // Caches what depends on the state alone: a ServedModel is a new object after each change, so the cache ends with it.
  const plans = new WeakMap<ServedModel, Map<string, Plans>>();

  const planOf = (served: ServedModel, key: KeyEntry, format: CallerFormat): Plan => {
    let ofModel = plans.get(served);
    if (ofModel === undefined) {
      ofModel = new Map();
      plans.set(served, ofModel);
    }
    const audience = audienceOf(key);
    let ofAudience = ofModel.get(audience);
    if (ofAudience === undefined) {
      if (ofModel.size >= mostPlans) ofModel.clear();
      ofAudience = {};
      ofModel.set(audience, ofAudience);
    }
    ofAudience[format] ??= makePlan(served, key, format, homeNamespace);
    return ofAudience[format];
  };

  const atRandom: Choose =
    balance === 'LeastLoaded'
      ? (shares, eligible) => pickLeastLoaded(shares, eligible, random, loads)
      : (shares, eligible) => pickByWeight(shares, eligible, random);
  const inOrderOf = (session: string, model: string, { resource: { metadata } }: KeyEntry): Choose => {
    const hash = sessionHash(`${metadata.namespace}/${metadata.name}`, model, session);
    return (shares, eligible) => pickForSession(shares, eligible, hash, loads);
  };

  return {
    next(model, key, format, tried, wish = 'unknown', session = undefined) {
      if (key.models !== undefined && !key.models.has(model)) return { code: 'model_not_allowed' };
      const served = view.served(model);
      if (served === undefined) return { code: 'model_not_found' };
      const plan = planOf(served, key, format);
      if ('code' in plan) return plan;
      const choose = session === undefined ? atRandom : inOrderOf(session, model, key);
      const at = now();
      const health = (candidate: Candidate): Health => {
        if (tried.has(candidate)) return 'tried';
        if (isDemoted(candidate.node, at)) return 'demoted';
        return circuits.state(candidate.node.id, candidate.model) === 'open' ? 'demoted' : 'healthy';
      };
      const isFull = ({ node }: Candidate): boolean => loads.isFull(node) && node.id !== tried.held;
      const isWished = (candidate: Candidate): boolean => wish !== 'only' || isNative(candidate, format);
      for (const wanted of ['healthy', 'demoted'] as const) {
        for (const tier of plan.tiers) {
          if (wish === 'unknown' && tier.natives !== undefined) return 'ask';
          const candidate = pickWished(tier, wish, (c) => health(c) === wanted && !isFull(c), choose);
          if (candidate === undefined) {
            const full = fullNodes(tier, tried, (c) => isWished(c) && health(c) === wanted && isFull(c));
            if (full.length > 0) return { full };
            continue;
          }
          const probe = circuits.claim(candidate.node.id, candidate.model);
          const picked = probe === undefined ? candidate : { ...candidate, probe };
          return { candidate: picked, native: tier.allNative || isNative(candidate, format) };
        }
      }
      return undefined;
    },
  };
}

/** Picks one of the eligible candidates; undefined if there is none. */
type Choose = (shares: Shares, eligible: Eligible) => Candidate | undefined;
type Health = 'healthy' | 'demoted' | 'tried';
/** Cached plans by the caller's format. */
type Plans = Partial<Record<CallerFormat, Plan>>;
type Plan = RouteRefusal | { readonly tiers: readonly Tier[] };

function makePlan(served: ServedModel, key: KeyEntry, format: CallerFormat, homeNamespace: string): Plan {
  const usable = usableCandidates(served, key, homeNamespace);
  return 'code' in usable ? usable : { tiers: tiersOf(usable, format) };
}

/** The full nodes of a tier for which a request may wait. */
function fullNodes({ candidates }: Tier, { givenUp }: Tried, isFull: Eligible): NodeEntry[] {
  const full = new Set<NodeEntry>();
  for (const candidate of candidates) {
    if (isFull(candidate) && givenUp?.has(candidate.node.id) !== true) full.add(candidate.node);
  }
  return [...full];
}

function pickWished(tier: Tier, wish: NativeWish, eligible: Eligible, choose: Choose): Candidate | undefined {
  if (wish === 'only' || wish === 'preferred') {
    const natives = tier.allNative ? tier : tier.natives;
    const candidate = natives === undefined ? undefined : choose(natives, eligible);
    if (candidate !== undefined || wish === 'only') return candidate;
  }
  return choose(tier, eligible);
}

const audiences = new WeakMap<KeyEntry, string>();

/** Keys of one audience see the same nodes: their namespace and the node namespaces they accept. */
function audienceOf(key: KeyEntry): string {
  const known = audiences.get(key);
  if (known !== undefined) return known;
  const { kind, metadata, spec } = key.resource;
  const accepted = kind === 'APIKey' ? (spec.nodeNamespaces ?? []) : [];
  const audience = [metadata.namespace, ...accepted.toSorted()].join(' ');
  audiences.set(key, audience);
  return audience;
}
