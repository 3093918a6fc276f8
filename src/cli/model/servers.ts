import { conditionOf } from '../../resources/condition-of.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { isDemoted } from '../../routing/demoted.ts';
import { servedNames } from '../../store/node-models.ts';

/** How a node stands to a model. */
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
  readonly state: ServerState;
  /** Whether requests may get there at all. */
  readonly takesTraffic: boolean;
  /** Its turn, from 1: nodes of one turn share its requests by weight. Undefined for one that gets none. */
  readonly turn: number | undefined;
  /** Its part of its turn's requests, 0 to 1. */
  readonly share: number | undefined;
}

/** A name that callers may use, with the nodes that know it, in the order in which they are asked. */
export interface KnownModel {
  readonly name: string;
  readonly servers: readonly Server[];
}

/**
 * Every name that some node knows, aliases included, by name. What keys may use which node, and the circuits of the
 * gateways, are left aside: `route explain` tells of them. `nowMs` is in milliseconds since 1970.
 */
export function knownModels(nodes: readonly UpstreamNode[], nowMs: number): KnownModel[] {
  const byName = new Map<string, Placed[]>();
  for (const node of nodes) {
    for (const [name, { model, enabled }] of servedNames(node)) {
      const state = stateOf(node, enabled, nowMs);
      const takesTraffic = state === 'serves' || state === 'last resort';
      const placed = byName.get(name);
      const server = { node, model, state, takesTraffic };
      if (placed === undefined) byName.set(name, [server]);
      else placed.push(server);
    }
  }
  return [...byName]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, placed]) => ({ name, servers: inOrder(placed) }));
}

type Placed = Omit<Server, 'turn' | 'share'>;

function stateOf(node: UpstreamNode, enabled: boolean, nowMs: number): ServerState {
  const { metadata, spec, status } = node;
  if (metadata.deletionTimestamp !== undefined) return 'being deleted';
  if (!spec.enabled) return 'node disabled';
  if (!enabled) return 'model disabled';
  const credentials = conditionOf(status?.conditions, 'CredentialsResolved');
  if (credentials?.status === 'False') return 'no usable key';
  const times = [status?.lastHealthCheckTime, status?.lastSyncTime].map(
    (time) => Date.parse(time ?? '') || 0,
  );
  return isDemoted({ resource: node, checkedAtMs: Math.max(...times) }, nowMs) ? 'last resort' : 'serves';
}

/** As requests are routed: healthy nodes by priority, then the last resorts likewise, then those that get none. */
function inOrder(placed: readonly Placed[]): Server[] {
  const turns = [...Map.groupBy(placed, turnKey)].sort(([one], [other]) => (one < other ? -1 : 1));
  let turn = 0;
  return turns.flatMap(([, members]) => {
    const takes = members[0]?.takesTraffic === true;
    if (takes) turn += 1;
    const total = members.reduce((sum, { node }) => sum + node.spec.weight, 0);
    return members
      .map((server) => ({
        ...server,
        turn: takes ? turn : undefined,
        share: takes ? server.node.spec.weight / total : undefined,
      }))
      .sort(byWeightThenName);
  });
}

function turnKey({ node, state, takesTraffic }: Placed): string {
  if (!takesTraffic) return '2';
  return `${state === 'serves' ? 0 : 1} ${String(100 - node.spec.priority).padStart(3, '0')}`;
}

function byWeightThenName({ node: one }: Placed, { node: other }: Placed): number {
  const name = ({ metadata }: UpstreamNode): string => `${metadata.namespace}/${metadata.name}`;
  return other.spec.weight - one.spec.weight || (name(one) < name(other) ? -1 : 1);
}
