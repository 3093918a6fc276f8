import { conditionOf } from '../../resources/condition-of.ts';
import type { Reason } from '../../resources/reasons.ts';
import { timeOf } from '../../resources/time.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { RouteView } from '../../routing/exclusions.ts';
import { namedSecrets } from '../../store/credentials.ts';
import { servedNames } from '../../store/node-models.ts';
import type { Candidate, Credentials, NodeEntry } from '../../store/store.ts';

/**
 * Nodes as routing looks at them, for somebody who may not read Secrets: whether a credential resolves is what the
 * controller wrote into the condition CredentialsResolved. Where `hasStatus` is false nothing is known of any, and each
 * is taken to resolve.
 */
export function declaredView(nodes: readonly UpstreamNode[], hasStatus: boolean): RouteView {
  const entries = new Map(
    nodes.map((node) => {
      const entry = entryOf(node, hasStatus);
      return [entry.id, entry] as const;
    }),
  );
  return {
    served(name) {
      const candidates = [...entries.values()].flatMap((node): Candidate[] => {
        const found = servedNames(node.resource).get(name);
        return found === undefined ? [] : [{ node, ...found }];
      });
      return candidates.length === 0 ? undefined : { name, candidates };
    },
    nodes: () => entries.values(),
  };
}

function entryOf(resource: UpstreamNode, hasStatus: boolean): NodeEntry {
  const { metadata, spec, status } = resource;
  return {
    id: `${metadata.namespace}/${metadata.name}`,
    resource,
    nativeFormats: new Set(spec.nativeFormats),
    credentials: hasStatus ? credentialsOf(resource) : resolved(resource),
    checkedAtMs: Math.max(timeOf(status?.lastHealthCheckTime) ?? 0, timeOf(status?.lastSyncTime) ?? 0),
  };
}

function credentialsOf(node: UpstreamNode): Credentials {
  const condition = conditionOf(node.status?.conditions, 'CredentialsResolved');
  if (condition?.status === 'False') {
    return { state: 'Refused', reason: condition.reason as Reason, message: condition.message };
  }
  const needsNone = node.spec.encryptedAPIKey === undefined && namedSecrets(node).size === 0;
  return condition?.status === 'True' || needsNone ? resolved(node) : { state: 'Pending' };
}

/** Nothing is ever sent from here, so the connection holds no credential. */
function resolved({ spec }: UpstreamNode): Credentials {
  const { baseURL, authentication, timeouts } = spec;
  const connection = { baseURL, authentication, headers: [], timeouts };
  return { state: 'Resolved', connection, apiKeySet: false, secretResourceVersion: '' };
}
