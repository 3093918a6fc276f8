import { needsNative } from '../../convert/needs-native.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { priorityOf, weightOf } from '../../store/preference.ts';
import type { Candidate, KeyEntry } from '../../store/store.ts';
import type { CallerFormat } from '../caller-format.ts';
import { isDemoted } from '../demoted.ts';
import { type RouteRefusal, usableCandidates } from '../filter.ts';
import type { CircuitState } from '../route.ts';
import { sessionHash } from '../session-hash.ts';
import { isNative, tiersOf } from '../tiers.ts';
import { type Exclusion, exclusionsOf, type RouteView, unknownTo } from './exclusions.ts';
import { type ExplainedConversion, explainConversion, isConverted } from './explained-conversion.ts';
import { ranksOf } from './ranks.ts';

/** The circuits of one gateway, as far as they are known. */
export interface GatewayCircuits {
  readonly gateway: string;
  state(nodeId: string, model: string): CircuitState;
}

/** The question: to which node does a request for this model go, sent with this key in this format? */
export interface RouteQuestion {
  readonly view: RouteView;
  readonly model: string;
  readonly key: KeyEntry;
  readonly format: CallerFormat;
  readonly homeNamespace: string;
  /** The request's parsed JSON; undefined for any request. */
  readonly body?: unknown;
  /** The session that the request names; undefined if it names none. */
  readonly session?: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The circuits of each gateway; undefined if they are not known: every circuit is then assumed closed. */
  readonly circuits: readonly GatewayCircuits[] | undefined;
}

/** Why a node is asked only after all healthy ones. */
export type Demotion =
  | { readonly reason: 'phase'; readonly phase: 'error' | 'offline'; readonly ageMs: number }
  | { readonly reason: 'circuit'; readonly gateways: readonly string[] };

/** A node that knows the name or is expected to know it. */
export interface ExplainedNode {
  /** `namespace/name`. */
  readonly node: string;
  /** The model name that is sent to the node; undefined if it does not know the model. */
  readonly model: string | undefined;
  readonly priority: number;
  readonly weight: number;
  readonly phase: string;
  /** Its place in the order, from 1; undefined for a node that does not get the request. Within one tier the order is random, or the session's. */
  readonly position: number | undefined;
  /** Its tier, from 1. Nodes of one tier are picked by weight; the next tier is used when all nodes of this one were tried. */
  readonly tier: number | undefined;
  /** Its share of the tier's picks, 0 to 1. */
  readonly share: number | undefined;
  /** Whether it speaks the caller's format, so that nothing is converted. */
  readonly native: boolean;
  readonly conversion: ExplainedConversion | undefined;
  /** Why it is a last resort; empty for a healthy node. */
  readonly demoted: readonly Demotion[];
  /** Gateways whose circuit to this node is open while others' are closed: only there it is a last resort. */
  readonly openIn: readonly string[];
  /** Why it does not get the request; empty if it does. */
  readonly excluded: readonly Exclusion[];
  /** Further remarks for people, as clauses. */
  readonly notes: readonly string[];
}

export interface Explanation {
  readonly model: string;
  readonly format: CallerFormat;
  /** The error that the caller gets if no node takes the request; undefined if one does. */
  readonly refusal: RouteRefusal['code'] | 'conversion_refused' | undefined;
  /**
   * Whether nodes that speak the format come first within one priority, because the conversion would lose something.
   * `depends`: not known, because no request was given. The shares are then those of requests that convert without loss.
   */
  readonly nativeFirst: boolean | 'depends';
  readonly circuitsKnown: boolean;
  /** Whether the request names its session, whose order the nodes of one tier have. */
  readonly hasSession: boolean;
  /** The nodes that take the request, in routing order; then the others by name. */
  readonly nodes: readonly ExplainedNode[];
  /** How many nodes were left out: they do not know the name and are not expected to. */
  readonly others: number;
}

/**
 * Explains to which nodes a request goes and why. It uses the filter and the tiers that route requests. Pure.
 * A circuit demotes a node only if it is open in every gateway; `openIn` lists the gateways otherwise.
 */
export function explainRoute(question: RouteQuestion): Explanation {
  const { view, model, key, format, homeNamespace, body, circuits, session } = question;
  const { namespace, name } = key.resource.metadata;
  const isAllowed = key.models === undefined || key.models.has(model);
  const asker = { model, key, homeNamespace, isAllowed };
  const served = view.served(model);
  const candidates = served?.candidates ?? [];
  const usable = isAllowed
    ? usableCandidates(served, key, homeNamespace)
    : ({ code: 'model_not_allowed' } as const);
  const outcomes = new Map(candidates.map((candidate) => [candidate, outcomeOf(candidate, question)]));
  const accepting =
    'code' in usable ? [] : usable.filter((each) => refusalIn(outcomes.get(each)) === undefined);
  const preferNative = body !== undefined && isConverted(format) && needsNative(format, body, () => 0);
  const ranks = ranksOf(accepting, {
    format,
    preferNative,
    isDemoted: (candidate) => demotionsOf(candidate, question).length > 0,
    session: session === undefined ? undefined : sessionHash(`${namespace}/${name}`, model, session),
  });

  const known = candidates.map((candidate): ExplainedNode => {
    const outcome = outcomes.get(candidate);
    const refusal = refusalIn(outcome);
    const rank = ranks.get(candidate);
    const open = openIn(candidate, question);
    return {
      ...factsOf(candidate.node.resource),
      priority: priorityOf(candidate),
      weight: weightOf(candidate),
      model: candidate.model,
      position: rank?.position,
      tier: rank?.tier,
      share: rank?.share,
      native: isNative(candidate, format),
      conversion: outcome !== undefined && 'name' in outcome ? outcome : undefined,
      demoted: demotionsOf(candidate, question),
      openIn: open.length === circuits?.length ? [] : open,
      excluded: [...exclusionsOf(candidate, asker), ...(refusal === undefined ? [] : [refusal])],
      notes: notesOf(candidate, question),
    };
  });
  const unknown = unknownTo(view, asker, new Set(candidates.map(({ node }) => node.id)));
  const others = unknown.nodes.map(
    ({ node, excluded }): ExplainedNode => ({ ...factsOf(node), ...never, excluded }),
  );
  const isMixed = tiersOf(accepting, format).some(({ natives }) => natives !== undefined);
  return {
    model,
    format,
    refusal: 'code' in usable ? usable.code : accepting.length === 0 ? 'conversion_refused' : undefined,
    nativeFirst: body === undefined && isMixed ? 'depends' : preferNative,
    circuitsKnown: circuits !== undefined,
    hasSession: session !== undefined,
    nodes: [...known, ...others].sort(byPosition),
    others: unknown.others,
  };
}

const never = {
  model: undefined,
  position: undefined,
  tier: undefined,
  share: undefined,
  native: false,
  conversion: undefined,
  demoted: [],
  openIn: [],
  notes: [],
} as const;

type Outcome = ReturnType<typeof explainConversion> | undefined;

/** The result of the conversion; undefined if none is needed. */
function outcomeOf(candidate: Candidate, { format, key, body }: RouteQuestion): Outcome {
  if (isNative(candidate, format) || !isConverted(format)) return undefined;
  return explainConversion(candidate, format, key, body);
}

function refusalIn(outcome: Outcome): Exclusion | undefined {
  return outcome !== undefined && 'refusal' in outcome ? outcome.refusal : undefined;
}

function factsOf({ metadata, spec, status }: UpstreamNode) {
  return {
    node: `${metadata.namespace}/${metadata.name}`,
    priority: spec.priority,
    weight: spec.weight,
    phase: status?.phase ?? 'unknown',
  };
}

function demotionsOf(candidate: Candidate, question: RouteQuestion): Demotion[] {
  const { node } = candidate;
  const phase = node.resource.status?.phase;
  const demotions: Demotion[] = [];
  if ((phase === 'error' || phase === 'offline') && isDemoted(node, question.now)) {
    demotions.push({ reason: 'phase', phase, ageMs: Math.max(0, question.now - node.checkedAtMs) });
  }
  const gateways = openIn(candidate, question);
  if (gateways.length > 0 && gateways.length === question.circuits?.length) {
    demotions.push({ reason: 'circuit', gateways });
  }
  return demotions;
}

function openIn({ node, model }: Candidate, { circuits = [] }: RouteQuestion): string[] {
  return circuits.filter((each) => each.state(node.id, model) === 'open').map(({ gateway }) => gateway);
}

function notesOf({ node, model }: Candidate, { model: asked, now }: RouteQuestion): string[] {
  const notes: string[] = [];
  const { concurrency } = node.resource.spec;
  if (concurrency !== undefined) {
    const { maxRequests, queue } = concurrency;
    const most = `at most ${maxRequests} requests of a gateway at one time`;
    notes.push(
      queue.maxRequests === 0
        ? most
        : `${most}, and ${queue.maxRequests} wait for up to ${queue.timeoutSeconds} s`,
    );
  }
  if (model !== asked) notes.push(`an alias of "${model}"`);
  for (const { name, aliases } of node.resource.spec.models ?? []) {
    if (model !== asked || name === model || aliases?.includes(asked) !== true) continue;
    notes.push(`its alias for "${name}" is shadowed by the model of that name`);
  }
  const phase = node.resource.status?.phase;
  if ((phase === 'error' || phase === 'offline') && !isDemoted(node, now)) {
    const why = node.checkedAtMs === 0 ? 'comes from no check' : 'is older than 15 minutes';
    notes.push(`its phase ${phase} ${why}, so it is not demoted for it`);
  }
  return notes;
}

function byPosition(one: ExplainedNode, other: ExplainedNode): number {
  const difference = (one.position ?? Number.MAX_SAFE_INTEGER) - (other.position ?? Number.MAX_SAFE_INTEGER);
  if (difference !== 0) return difference;
  if (one.node !== other.node) return one.node < other.node ? -1 : 1;
  return (one.model ?? '') < (other.model ?? '') ? -1 : 1;
}
