import type { ApiKey } from '../../resources/api-key.ts';
import type { MasterKey } from '../../resources/master-key.ts';
import { nearest } from '../../resources/nearest.ts';
import { timeOf } from '../../resources/time.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { servedNames } from '../../store/node-models.ts';
import { mayUse } from '../../store/tenancy.ts';
import type { Circumstances } from './circumstances.ts';
import type { Finding } from './finding.ts';
import type { CheckedFolder, CheckedResource } from './folder.ts';
import { objectFinding } from './object-finding.ts';

/** Rules about keys. */
export function keyFindings(folder: CheckedFolder, circumstances: Circumstances): Finding[] {
  const reachOf = reaches(folder, circumstances.homeNamespace);
  return [
    ...hashConflicts(folder),
    ...folder.keys.flatMap((key) => [
      ...expired(key, circumstances.now),
      ...(key.resource.kind === 'APIKey'
        ? models(folder, { resource: key.resource, object: key.object }, reachOf(key.resource))
        : []),
      ...unusedNamespaces(folder, key, circumstances.homeNamespace),
    ]),
  ];
}

/** The models of the nodes that a key may use, as far as manifests declare them. */
interface Reach {
  readonly nodes: number;
  readonly names: ReadonlySet<string>;
  /** Nodes whose models are discovered while the gateway runs. */
  readonly discovering: readonly string[];
}

/** Keys of one namespace that accept the same namespaces share one result, because there may be many thousands. */
function reaches(folder: CheckedFolder, homeNamespace: string): (key: ApiKey) => Reach {
  const known = new Map<string, Reach>();
  const namesOf = new Map<UpstreamNode, Iterable<string>>();
  for (const { resource } of folder.nodes) namesOf.set(resource, [...servedNames(resource).keys()]);
  return (key) => {
    const audience = [key.metadata.namespace, ...(key.spec.nodeNamespaces ?? []).toSorted()].join(' ');
    const found = known.get(audience);
    if (found !== undefined) return found;
    const nodes = folder.nodes.filter(({ resource }) => mayUse(key, resource, homeNamespace));
    const reach: Reach = {
      nodes: nodes.length,
      names: new Set(nodes.flatMap(({ resource }) => [...(namesOf.get(resource) ?? [])])),
      discovering: nodes
        .filter(({ resource }) => resource.spec.sync.discovery === 'Always')
        .map(({ resource }) => resource.metadata.name),
    };
    known.set(audience, reach);
    return reach;
  };
}

function models(
  folder: CheckedFolder,
  { resource, object }: CheckedResource<ApiKey>,
  reach: Reach,
): Finding[] {
  // A folder with only keys tells nothing about nodes.
  if (folder.nodes.length === 0) return [];
  if (reach.nodes === 0) {
    const message = `no node of the folder serves keys of namespace "${resource.metadata.namespace}"`;
    const remedy = "admit it in a node's spec.callerNamespaces, or declare a node in the namespace";
    return [objectFinding('key-without-nodes', object, 'metadata.name', message, remedy)];
  }
  const unknown = [...(resource.spec.models ?? []).entries()].filter(([, name]) => !reach.names.has(name));
  const [first] = unknown;
  if (first === undefined) return [];
  if (reach.discovering.length > 0) {
    const names = unknown.map(([, name]) => `"${name}"`);
    const shown =
      names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
    const node = reach.discovering[0];
    const message = `whether ${shown} exists is known only after discovery on node "${node}"`;
    const remedy = 'look at the condition ModelsResolved of the key in the cluster';
    return [objectFinding('allowlist-unjudged', object, `spec.models[${first[0]}]`, message, remedy)];
  }
  return unknown.map(([index, name]) => {
    const meant = nearest(name, [...reach.names]);
    const message = `no node that the key may use serves "${name}"`;
    const remedy = meant === undefined ? 'remove it, or add it to a node' : `did you mean "${meant}"?`;
    return objectFinding('allowlist-unknown-model', object, `spec.models[${index}]`, message, remedy);
  });
}

function hashConflicts({ keys }: CheckedFolder): Finding[] {
  const first = new Map<string, CheckedResource<ApiKey | MasterKey>>();
  const findings: Finding[] = [];
  for (const key of keys) {
    const { hash } = key.resource.spec;
    if (hash === undefined) continue;
    const other = first.get(hash);
    if (other === undefined) {
      first.set(hash, key);
      continue;
    }
    // That is the finding `duplicate-name`.
    if (other.object.id === key.object.id) continue;
    const message = `${other.object.id} claims the same hash; one of the two is not in force`;
    const remedy = 'give one of them a key of its own';
    findings.push(objectFinding('hash-conflict', key.object, 'spec.hash', message, remedy));
  }
  return findings;
}

function expired({ resource, object }: CheckedResource<ApiKey | MasterKey>, now: Date): Finding[] {
  const { expirationTime } = resource.spec;
  const end = timeOf(expirationTime);
  if (end === undefined || end > now.getTime()) return [];
  const message = `the key expired at ${expirationTime}`;
  return [
    objectFinding(
      'key-expired',
      object,
      'spec.expirationTime',
      message,
      'remove the key, or set a later time',
    ),
  ];
}

function unusedNamespaces(
  folder: CheckedFolder,
  { resource, object }: CheckedResource<ApiKey | MasterKey>,
  homeNamespace: string,
): Finding[] {
  if (resource.kind !== 'APIKey' || folder.nodes.length === 0) return [];
  return (resource.spec.nodeNamespaces ?? []).flatMap((name, index) => {
    const there = folder.nodes.filter((node) => node.resource.metadata.namespace === name);
    if (there.some((node) => mayUse(resource, node.resource, homeNamespace))) return [];
    const caller = resource.metadata.namespace;
    const message =
      there.length === 0
        ? `no node of the folder is in namespace "${name}"`
        : `no node of namespace "${name}" admits keys of namespace "${caller}"`;
    const remedy =
      there.length === 0 ? 'correct the name, or remove it' : "add it to the node's spec.callerNamespaces";
    return [objectFinding('node-namespace-unused', object, `spec.nodeNamespaces[${index}]`, message, remedy)];
  });
}
