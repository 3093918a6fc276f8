import type { ModelCard } from '../../resources/model-card.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { isDemoted } from '../../routing/demoted.ts';
import { ranksOf } from '../../routing/explain/ranks.ts';
import { cardOf } from '../../store/model-card.ts';
import { servedNames } from '../../store/node-models.ts';
import { priorityOf, weightOf } from '../../store/preference.ts';
import type { Candidate } from '../../store/store.ts';
import { declaredEntry } from '../declared-entry.ts';

/** Whether a node serves a model, and if not, why. */
export type ServerState =
  | 'serves'
  | 'last resort'
  | 'model disabled'
  | 'node disabled'
  | 'no usable key'
  | 'being deleted';

/** A node that knows a name. */
export interface Server {
  readonly node: UpstreamNode;
  /** The name that the node is sent. */
  readonly model: string;
  readonly priority: number;
  readonly weight: number;
  readonly state: ServerState;
  /** Whether the node may get requests for the model. */
  readonly takesTraffic: boolean;
  /** Its place in the order, from 1; nodes in the same place share requests by weight. Undefined if it gets none. */
  readonly turn: number | undefined;
  /** Its part of the requests of its place, 0 to 1. */
  readonly share: number | undefined;
}

/** A name that callers may use, with the nodes that know it, in the order in which they are asked. */
export interface KnownModel {
  readonly name: string;
  readonly servers: readonly Server[];
  /** What is known about it, whichever of its nodes serves a request. */
  readonly card: ModelCard;
}

/**
 * Every name that a node knows, aliases included, sorted by name. Permissions of keys and circuits of gateways do not
 * count here: `route explain` shows them. `nowMs` is in milliseconds since 1970.
 */
export function knownModels(nodes: readonly UpstreamNode[], nowMs: number): KnownModel[] {
  const byName = new Map<string, Candidate[]>();
  for (const resource of nodes) {
    const node = declaredEntry(resource, true);
    for (const [name, served] of servedNames(resource)) {
      const candidates = served.map((one) => ({ node, ...one }));
      const known = byName.get(name);
      if (known === undefined) byName.set(name, candidates);
      else known.push(...candidates);
    }
  }
  return [...byName]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, candidates]) => ({ name, servers: inOrder(candidates, nowMs), card: cardFor(candidates) }));
}

/** As callers get it: nodes that serve the model to no key do not count, unless there are no others. */
function cardFor(candidates: readonly Candidate[]): ModelCard {
  const usable = candidates.filter((candidate) => hindranceOf(candidate) === undefined);
  return cardOf(usable.length > 0 ? usable : candidates);
}

/** Why a node serves a model to no key; undefined if it serves it. */
function hindranceOf({ node, enabled }: Candidate): ServerState | undefined {
  const { metadata, spec } = node.resource;
  if (metadata.deletionTimestamp !== undefined) return 'being deleted';
  if (!spec.enabled) return 'node disabled';
  if (!enabled) return 'model disabled';
  return node.credentials.state === 'Refused' ? 'no usable key' : undefined;
}

/** As requests are routed: healthy nodes by priority, then the last resorts likewise, then those that get none. */
function inOrder(candidates: readonly Candidate[], nowMs: number): Server[] {
  const isLastResort = ({ node }: Candidate): boolean => isDemoted(node, nowMs);
  const ranks = ranksOf(
    candidates.filter((candidate) => hindranceOf(candidate) === undefined),
    { format: 'chat', preferNative: false, isDemoted: isLastResort },
  );
  const taking = [...ranks].map(([candidate, { tier, share }]): Server => {
    const state = isLastResort(candidate) ? 'last resort' : 'serves';
    return { ...nodeAndModel(candidate), state, takesTraffic: true, turn: tier, share };
  });
  const others = candidates.toSorted(byWeightThenId).flatMap((candidate): Server[] => {
    const state = hindranceOf(candidate);
    if (state === undefined) return [];
    return [{ ...nodeAndModel(candidate), state, takesTraffic: false, turn: undefined, share: undefined }];
  });
  return [...taking, ...others];
}

function nodeAndModel(candidate: Candidate): Pick<Server, 'node' | 'model' | 'priority' | 'weight'> {
  const { node, model } = candidate;
  return { node: node.resource, model, priority: priorityOf(candidate), weight: weightOf(candidate) };
}

function byWeightThenId(one: Candidate, other: Candidate): number {
  return weightOf(other) - weightOf(one) || (one.node.id < other.node.id ? -1 : 1);
}
