import type { NativeFormat } from '../resources/formats.ts';
import type { Candidate, KeyEntry, NodeEntry, ServedModel, View } from '../store/store.ts';
import { mayUse } from '../store/tenancy.ts';
import { dialectOf } from './candidate-dialect.ts';

/** `closed`: use it. `probe`: its time is over and one request may try it (then `claim`). `open`: a last resort. */
export type CircuitState = 'closed' | 'probe' | 'open';

/** What routing asks of a gateway's circuits. */
export interface CircuitStates {
  state(nodeId: string, model: string): CircuitState;
  /** Takes the probe of every half-open circuit on the way to this model. */
  claim(nodeId: string, model: string): void;
}

/** What a caller sends, by the path it calls. */
export type CallerFormat = 'chat' | 'completions' | 'embeddings' | 'responses' | 'messages' | 'count_tokens';

export interface RouteRefusal {
  readonly code: 'model_not_allowed' | 'model_not_found' | 'model_disabled' | 'no_node_available';
}

/** The node to try next. */
export interface Pick {
  readonly candidate: Candidate;
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

/** A status older than this says nothing of a node any more: it is not demoted for its phase. */
const staleStatusMs = 15 * 60_000;
/** Audiences whose plans are kept for one name; more audiences than this would only cost memory. */
const mostPlans = 1000;
/** How often a weighted pick is drawn before the eligible ones are counted out one by one. */
const draws = 4;

/** The native format that a node speaks for a caller's format; undefined where every node speaks it. */
const nativeFor: Readonly<Record<CallerFormat, NativeFormat | undefined>> = {
  chat: undefined,
  embeddings: undefined,
  completions: 'Completions',
  responses: 'Responses',
  messages: 'Messages',
  count_tokens: 'Messages',
};

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
          circuits.claim(candidate.node.id, candidate.model);
          return { candidate, native: tier.allNative || isNative(candidate, format) };
        }
      }
      return undefined;
    },
  };
}

/**
 * The candidates that a key's request may be sent to now, or why there is none: the one filter of first picks, retries
 * and listings, so that what is listed can be called. The key's allowlist is judged before.
 */
export function usableCandidates(
  served: ServedModel | undefined,
  key: KeyEntry,
  homeNamespace: string,
): readonly Candidate[] | RouteRefusal {
  const visible = (served?.candidates ?? []).filter(({ node }) =>
    mayUse(key.resource, node.resource, homeNamespace),
  );
  if (visible.length === 0) return { code: 'model_not_found' };
  const enabled = visible.filter(takesTraffic);
  if (enabled.length === 0) return { code: 'model_disabled' };
  const usable = enabled.filter(({ node }) => node.credentials.state === 'Resolved');
  return usable.length === 0 ? { code: 'no_node_available' } : usable;
}

/** Whether a candidate takes traffic at all: its node and its model are enabled, and the node is not being deleted. */
function takesTraffic({ node, enabled }: Candidate): boolean {
  return enabled && node.resource.spec.enabled && node.resource.metadata.deletionTimestamp === undefined;
}

type Health = 'healthy' | 'demoted' | 'tried';
/** By the caller's format. */
type Plans = Partial<Record<CallerFormat, Plan>>;
type Plan = RouteRefusal | { readonly tiers: readonly Tier[] };

/** Candidates with the running sum of their weights. */
interface Shares {
  readonly candidates: readonly Candidate[];
  readonly sums: readonly number[];
}

/** Candidates of one priority. */
interface Tier extends Shares {
  readonly allNative: boolean;
  /** Those that speak the caller's format, where some do and some do not. */
  readonly natives: Shares | undefined;
}

function makePlan(served: ServedModel, key: KeyEntry, format: CallerFormat, homeNamespace: string): Plan {
  const usable = usableCandidates(served, key, homeNamespace);
  return 'code' in usable ? usable : { tiers: tiersOf(usable, format) };
}

function isNative({ node }: Candidate, format: CallerFormat): boolean {
  const needed = nativeFor[format];
  return needed === undefined || node.nativeFormats.has(needed);
}

function tiersOf(candidates: readonly Candidate[], format: CallerFormat): Tier[] {
  // A count by a node that knows its tokenizer is better than an estimate, whatever the priorities say.
  const groups =
    format === 'count_tokens'
      ? [...Map.groupBy(candidates, countRank)]
          .sort(([one], [other]) => one - other)
          .map(([, group]) => group)
      : [candidates];
  return groups.flatMap((group) => {
    const byPriority = Map.groupBy(group, ({ node }) => node.resource.spec.priority);
    return [...byPriority]
      .sort(([one], [other]) => other - one)
      .map(([, members]) => tierOf(members, format));
  });
}

function countRank(candidate: Candidate): number {
  if (isNative(candidate, 'count_tokens')) return 0;
  return dialectOf(candidate).tokenize ? 1 : 2;
}

function tierOf(candidates: readonly Candidate[], format: CallerFormat): Tier {
  const natives = candidates.filter((candidate) => isNative(candidate, format));
  const mixed = natives.length > 0 && natives.length < candidates.length;
  return {
    ...sharesOf(candidates),
    allNative: natives.length === candidates.length,
    natives: mixed ? sharesOf(natives) : undefined,
  };
}

function sharesOf(candidates: readonly Candidate[]): Shares {
  let sum = 0;
  return { candidates, sums: candidates.map(({ node }) => (sum += node.resource.spec.weight)) };
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

function isDemoted(node: NodeEntry, nowMs: number): boolean {
  const phase = node.resource.status?.phase;
  return (phase === 'error' || phase === 'offline') && nowMs - node.checkedAtMs <= staleStatusMs;
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
