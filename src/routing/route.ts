import type { Candidate, KeyEntry, ServedModel, View } from '../store/store.ts';
import type { CallerFormat } from './caller-format.ts';
import { isDemoted } from './demoted.ts';
import { type RouteRefusal, usableCandidates } from './filter.ts';
import { isNative, type Shares, type Tier, tiersOf } from './tiers.ts';

/** `closed`: use it. `probe`: its time is over and one request may try it (then `claim`). `open`: a last resort. */
export type CircuitState = 'closed' | 'probe' | 'open';

/** The right to try a node whose circuit is half-open, held by one attempt at a time. Only its identity counts. */
export type Probe = Readonly<Record<never, never>>;

/** What routing asks of a gateway's circuits. */
export interface CircuitStates {
  state(nodeId: string, model: string): CircuitState;
  /** Takes the probe of every half-open circuit on the way to this model; undefined if there is none. */
  claim(nodeId: string, model: string): Probe | undefined;
}

/** A candidate, and the probe that the attempt on it holds. */
export type PickedCandidate = Candidate & { readonly probe?: Probe };

/** The node to try next. */
export interface Pick {
  readonly candidate: PickedCandidate;
  /** Whether it speaks the caller's format; else the request is converted. */
  readonly native: boolean;
}

/**
 * How much the request wants a node that speaks its format: not yet asked, not at all, before the others of the same
 * priority, or no other node will do.
 */
export type NativeWish = 'unknown' | 'any' | 'preferred' | 'only';

export interface Router {
  /**
   * The next node for this request: healthy ones first by priority, within one priority at random by weight; then the
   * demoted ones in the same order. Nodes in `tried` (ids) are left out; undefined says that none is left. A refusal
   * says why there is none at all; 'ask' that the choice depends on a `wish` that is still unknown. Reads the newest
   * state at each call, so a node disabled meanwhile is not tried.
   */
  next(
    model: string,
    key: KeyEntry,
    format: CallerFormat,
    tried: ReadonlySet<string>,
    wish?: NativeWish,
  ): Pick | RouteRefusal | 'ask' | undefined;
}

/** Audiences whose plans are kept for one name; more audiences than this would only cost memory. */
const mostPlans = 1000;
/** How often a weighted pick is drawn before the eligible ones are counted out one by one. */
const draws = 4;

/** `now` is in milliseconds since 1970, `random` in [0, 1). */
export function createRouter(options: {
  view: View;
  circuits: CircuitStates;
  homeNamespace: string;
  random: () => number;
  now: () => number;
}): Router {
  const { view, circuits, homeNamespace, random, now } = options;
  // What the state alone decides is kept until the state changes: a ServedModel is a new object after each change.
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

  return {
    next(model, key, format, tried, wish = 'unknown') {
      if (key.models !== undefined && !key.models.has(model)) return { code: 'model_not_allowed' };
      const served = view.served(model);
      if (served === undefined) return { code: 'model_not_found' };
      const plan = planOf(served, key, format);
      if ('code' in plan) return plan;
      const at = now();
      const health = (candidate: Candidate): Health => {
        if (tried.has(candidate.node.id)) return 'tried';
        if (isDemoted(candidate.node, at)) return 'demoted';
        return circuits.state(candidate.node.id, candidate.model) === 'open' ? 'demoted' : 'healthy';
      };
      for (const wanted of ['healthy', 'demoted'] as const) {
        for (const tier of plan.tiers) {
          if (wish === 'unknown' && tier.natives !== undefined) return 'ask';
          const candidate = pickWished(tier, wish, (c) => health(c) === wanted, random);
          if (candidate === undefined) continue;
          const probe = circuits.claim(candidate.node.id, candidate.model);
          const picked = probe === undefined ? candidate : { ...candidate, probe };
          return { candidate: picked, native: tier.allNative || isNative(candidate, format) };
        }
      }
      return undefined;
    },
  };
}

type Health = 'healthy' | 'demoted' | 'tried';
/** By the caller's format. */
type Plans = Partial<Record<CallerFormat, Plan>>;
type Plan = RouteRefusal | { readonly tiers: readonly Tier[] };

function makePlan(served: ServedModel, key: KeyEntry, format: CallerFormat, homeNamespace: string): Plan {
  const usable = usableCandidates(served, key, homeNamespace);
  return 'code' in usable ? usable : { tiers: tiersOf(usable, format) };
}

function pickWished(
  tier: Tier,
  wish: NativeWish,
  eligible: (candidate: Candidate) => boolean,
  random: () => number,
): Candidate | undefined {
  if (wish === 'only' || wish === 'preferred') {
    const natives = tier.allNative ? tier : tier.natives;
    const candidate = natives === undefined ? undefined : pickFrom(natives, eligible, random);
    if (candidate !== undefined || wish === 'only') return candidate;
  }
  return pickFrom(tier, eligible, random);
}

/**
 * One eligible candidate of a tier, each with the chance of its weight among the eligible ones. Draws from the whole
 * tier first and takes the first eligible draw, which has the same distribution and costs the logarithm of the tier;
 * counts the eligible ones out only where most are not.
 */
function pickFrom(
  tier: Shares,
  eligible: (candidate: Candidate) => boolean,
  random: () => number,
): Candidate | undefined {
  const total = tier.sums.at(-1) ?? 0;
  for (let draw = 0; draw < draws; draw++) {
    const candidate = tier.candidates[indexOfSum(tier.sums, random() * total)];
    if (candidate !== undefined && eligible(candidate)) return candidate;
    if (tier.candidates.length === 1) return undefined;
  }
  const left = tier.candidates.filter(eligible);
  const rest = left.reduce((sum, { node }) => sum + node.resource.spec.weight, 0);
  let point = random() * rest;
  for (const candidate of left) {
    point -= candidate.node.resource.spec.weight;
    if (point < 0) return candidate;
  }
  return left.at(-1);
}

/** The first index whose running sum is above `point`. */
function indexOfSum(sums: readonly number[], point: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > point) high = middle;
    else low = middle + 1;
  }
  return low;
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
