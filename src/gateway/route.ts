import type { NativeFormat } from '../resources/formats.ts';
import type { Candidate, KeyEntry, NodeEntry, ServedModel, View } from '../store/store.ts';
import { mayUse } from '../store/tenancy.ts';
import type { Circuits } from './circuits.ts';

/** What a caller sends, by the path it calls. */
export type CallerFormat = 'chat' | 'completions' | 'embeddings' | 'responses' | 'messages' | 'count_tokens';

export type RouteRefusal =
  | { readonly code: 'model_not_allowed' | 'model_not_found' | 'model_disabled' | 'no_node_available' }
  | { readonly code: 'unsupported_format'; readonly formats: readonly string[] };

/** The node to try next. */
export interface Pick {
  readonly candidate: Candidate;
}

export interface Router {
  /**
   * The next node for this request: healthy ones first by priority, within one priority at random by weight; then the
   * demoted ones in the same order. Nodes in `tried` (ids) are left out; undefined says that none is left. A refusal
   * says why there is none at all. Reads the newest state at each call, so a node disabled meanwhile is not tried.
   */
  next(
    model: string,
    key: KeyEntry,
    format: CallerFormat,
    tried: ReadonlySet<string>,
  ): Pick | RouteRefusal | undefined;
}

/** A status older than this says nothing of a node any more: it is not demoted for its phase. */
const staleStatusMs = 15 * 60_000;
/** Plans kept for one name; more audiences than this would only cost memory. */
const mostPlans = 1000;
/** How often a weighted pick is drawn before the eligible ones are counted out one by one. */
const draws = 4;

/** The native format that a node must speak for a caller's format; undefined where every node speaks it. */
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
  circuits: Circuits;
  homeNamespace: string;
  random: () => number;
  now: () => number;
}): Router {
  const { view, circuits, homeNamespace, random, now } = options;
  // What the state alone decides is kept until the state changes: a ServedModel is a new object after each change.
  const plans = new WeakMap<ServedModel, Map<string, Plan>>();

  const planOf = (served: ServedModel, key: KeyEntry, format: CallerFormat): Plan => {
    const known = plans.get(served) ?? new Map<string, Plan>();
    if (known.size === 0) plans.set(served, known);
    const id = `${format} ${audienceOf(key)}`;
    const plan = known.get(id) ?? makePlan(served, key, format, homeNamespace);
    if (known.size >= mostPlans) known.clear();
    known.set(id, plan);
    return plan;
  };

  return {
    next(model, key, format, tried) {
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
          const candidate = pickFrom(tier, (c) => health(c) === wanted, random);
          if (candidate === undefined) continue;
          circuits.claim(candidate.node.id, candidate.model);
          return { candidate };
        }
      }
      return undefined;
    },
  };
}

/** Whether a candidate takes traffic at all: its node and its model are enabled, and the node is not being deleted. */
export function takesTraffic({ node, enabled }: Candidate): boolean {
  return enabled && node.resource.spec.enabled && node.resource.metadata.deletionTimestamp === undefined;
}

type Health = 'healthy' | 'demoted' | 'tried';
type Plan = RouteRefusal | { readonly tiers: readonly Tier[] };

/** Candidates of one priority, with the running sum of their weights. */
interface Tier {
  readonly candidates: readonly Candidate[];
  readonly sums: readonly number[];
}

function makePlan(served: ServedModel, key: KeyEntry, format: CallerFormat, homeNamespace: string): Plan {
  const visible = served.candidates.filter(({ node }) => mayUse(key.resource, node.resource, homeNamespace));
  if (visible.length === 0) return { code: 'model_not_found' };
  const enabled = visible.filter(takesTraffic);
  if (enabled.length === 0) return { code: 'model_disabled' };
  const needed = nativeFor[format];
  const speaking =
    needed === undefined ? enabled : enabled.filter(({ node }) => node.nativeFormats.has(needed));
  if (speaking.length === 0) return { code: 'unsupported_format', formats: formatsOf(enabled) };
  const reachable = speaking.filter(({ node }) => node.credentials.state === 'Resolved');
  if (reachable.length === 0) return { code: 'no_node_available' };
  return { tiers: tiersOf(reachable) };
}

function formatsOf(candidates: readonly Candidate[]): string[] {
  const native = new Set(candidates.flatMap(({ node }) => [...node.nativeFormats]));
  return [
    'chat-completions',
    ...(['Completions', 'Messages', 'Responses'] as const)
      .filter((f) => native.has(f))
      .map((f) => f.toLowerCase()),
  ];
}

function tiersOf(candidates: readonly Candidate[]): Tier[] {
  const byPriority = Map.groupBy(candidates, ({ node }) => node.resource.spec.priority);
  return [...byPriority]
    .sort(([one], [other]) => other - one)
    .map(([, members]) => {
      let sum = 0;
      return { candidates: members, sums: members.map(({ node }) => (sum += node.resource.spec.weight)) };
    });
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
  tier: Tier,
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
