import { conditionOf } from '../resources/condition-of.ts';
import type { Reason } from '../resources/reasons.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import { checkedAtMs } from '../store/checked-at.ts';
import { namedSecrets } from '../store/credentials.ts';
import type { Credentials, NodeEntry } from '../store/store.ts';

/**
 * A node as routing sees it, for a person who may not read Secrets. Whether its credentials resolve is read from the
 * condition CredentialsResolved. If `hasStatus` is false, there are no conditions, and all are assumed to resolve.
 */
export function declaredEntry(resource: UpstreamNode, hasStatus: boolean): NodeEntry {
  const { metadata, spec } = resource;
  return {
    id: `${metadata.namespace}/${metadata.name}`,
    resource,
    nativeFormats: new Set(spec.nativeFormats),
    credentials: hasStatus ? credentialsOf(resource) : resolved(resource),
    checkedAtMs: checkedAtMs(resource, Date.now()),
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

/** No request is sent from here, so the connection holds no credential. */
function resolved({ spec }: UpstreamNode): Credentials {
  const { baseURL, authentication, timeouts } = spec;
  const connection = { baseURL, authentication, headers: [], timeouts };
  return { state: 'Resolved', connection, apiKeySet: false, secretResourceVersion: '' };
}
