import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { servedNames } from '../../store/node-models.ts';
import type { Candidate, KeyEntry, NodeEntry, ServedModel } from '../../store/store.ts';
import { disagreement } from '../../store/tenancy.ts';
import { type Hindrance, hindrancesOf } from '../filter.ts';

/** The nodes as an explanation needs them. */
export interface RouteView {
  /** The nodes that know a name, enabled or not. */
  served(name: string): ServedModel | undefined;
  /** Every node. */
  nodes(): Iterable<NodeEntry>;
}

/** Why a node does not get the request, as a clause that follows the node's name, and what to do about it. */
export interface Exclusion {
  readonly reason: Hindrance | 'allowlist' | 'conversion' | 'unknown_model';
  readonly message: string;
  readonly remedy: string;
}

/** The sender of the request. */
interface Asker {
  readonly model: string;
  readonly key: KeyEntry;
  readonly homeNamespace: string;
  /** Whether the key's allowlist names the model. */
  readonly isAllowed: boolean;
}

/** Every reason why a candidate does not get the request, in the order in which routing checks; empty if it does. */
export function exclusionsOf(candidate: Candidate, asker: Asker): Exclusion[] {
  const hindrances = hindrancesOf(candidate, asker.key, asker.homeNamespace);
  return [...allowlist(asker), ...hindrances.map((hindrance) => worded[hindrance](candidate, asker))];
}

/**
 * The nodes that do not know the name although one would expect it: the spec names the model or an alias, the node's list is
 * incomplete or was never read, or it has a similar name. `others` counts the rest. Nodes in `known` (ids) are left out.
 */
export function unknownTo(
  view: RouteView,
  asker: Asker,
  known: ReadonlySet<string>,
): { readonly nodes: readonly { node: UpstreamNode; excluded: Exclusion[] }[]; readonly others: number } {
  const nodes: { node: UpstreamNode; excluded: Exclusion[] }[] = [];
  let others = 0;
  for (const entry of view.nodes()) {
    if (known.has(entry.id)) continue;
    const node = entry.resource;
    const why = whyExpected(node, asker.model);
    if (why === undefined) {
      others += 1;
      continue;
    }
    const candidate: Candidate = { node: entry, model: asker.model, enabled: true };
    const unknown: Exclusion = { reason: 'unknown_model', ...why };
    nodes.push({ node, excluded: [unknown, ...exclusionsOf(candidate, asker)] });
  }
  return { nodes, others };
}

function allowlist({ isAllowed, model, key }: Asker): Exclusion[] {
  if (isAllowed) return [];
  return [
    {
      reason: 'allowlist',
      message: `the allowlist of key ${key.resource.metadata.name} does not name "${model}"`,
      remedy: "add the name that callers send to the key's spec.models",
    },
  ];
}

const worded: Readonly<Record<Hindrance, (candidate: Candidate, asker: Asker) => Exclusion>> = {
  namespace: ({ node }, { key, homeNamespace }) => {
    const caller = key.resource.metadata.namespace;
    const own = node.resource.metadata.namespace;
    const side = disagreement(key.resource, node.resource, homeNamespace);
    const nodeSide = `the node does not admit keys of namespace "${caller}"`;
    const keySide = `the key accepts no nodes of namespace "${own}"`;
    const nodeRemedy = `add "${caller}" to the node's spec.callerNamespaces`;
    const keyRemedy = `add "${own}" to the key's spec.nodeNamespaces`;
    if (side === 'node') return { reason: 'namespace', message: nodeSide, remedy: nodeRemedy };
    if (side === 'key') return { reason: 'namespace', message: keySide, remedy: keyRemedy };
    return {
      reason: 'namespace',
      message: `${nodeSide}, and ${keySide}`,
      remedy: `${nodeRemedy} and ${keyRemedy}`,
    };
  },
  being_deleted: ({ node }) => ({
    reason: 'being_deleted',
    message: `the node has been in deletion since ${node.resource.metadata.deletionTimestamp}`,
    remedy: 'look at its metadata.finalizers if it stays',
  }),
  node_disabled: ({ node }) => ({
    reason: 'node_disabled',
    message: 'the node is disabled (spec.enabled: false)',
    remedy: `model-gateway node enable ${node.resource.metadata.name}`,
  }),
  model_disabled: ({ node, model }) => ({
    reason: 'model_disabled',
    message: isWish(node.resource, model)
      ? `"${model}" is disabled in spec.models`
      : `"${model}" was discovered and newly discovered models start disabled (spec.sync.newModels)`,
    remedy: `model-gateway model enable ${node.resource.metadata.name} ${model}`,
  }),
  credentials: ({ node }) => ({
    reason: 'credentials',
    message:
      node.credentials.state === 'Refused'
        ? `its credential does not resolve (${node.credentials.reason}): ${node.credentials.message.replace(/\.$/, '')}`
        : 'its credential is not resolved yet',
    remedy: `model-gateway node show ${node.resource.metadata.name}`,
  }),
};

function isWish({ spec }: UpstreamNode, model: string): boolean {
  return spec.models?.some(({ name, enabled }) => name === model && enabled === false) === true;
}

type Why = Omit<Exclusion, 'reason'>;

/** Why one would expect a node to know the name; undefined where nothing says so. */
function whyExpected(node: UpstreamNode, model: string): Why | undefined {
  const { spec, status } = node;
  const { name } = node.metadata;
  for (const wish of spec.models ?? []) {
    const isAlias = wish.aliases?.includes(model) === true;
    if (wish.name !== model && !isAlias) continue;
    const what = isAlias ? `"${model}" is an alias of "${wish.name}", which` : 'spec.models names it, but';
    return {
      message: `${what} ${isAlias ? '' : 'it '}is neither discovered nor in spec.manualModels`,
      remedy: `model-gateway node sync ${name}, or add "${wish.name}" to spec.manualModels`,
    };
  }
  if (spec.sync.discovery === 'Always') {
    if (status?.lastSyncError !== undefined) {
      return {
        message: `it does not list "${model}", and its last sync failed`,
        remedy: `model-gateway node show ${name}`,
      };
    }
    if (status?.lastSyncTime === undefined) {
      return {
        message: 'its models are not known yet: it was never synced',
        remedy: `model-gateway node sync ${name}`,
      };
    }
    if (status.modelsTruncated === true) {
      return {
        message: 'it lists more models than its status holds, and this one may be among the rest',
        remedy: `add "${model}" to spec.manualModels`,
      };
    }
  }
  const folded = model.toLowerCase();
  for (const known of servedNames(node).keys()) {
    if (known.toLowerCase() !== folded) continue;
    return {
      message: `it knows "${known}", and names are case-sensitive`,
      remedy: `ask for "${known}", or make "${model}" an alias of it`,
    };
  }
  return undefined;
}
