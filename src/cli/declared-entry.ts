import { conditionOf } from '../resources/condition-of.ts';
import type { Reason } from '../resources/reasons.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import { checkedAtMs } from '../store/checked-at.ts';
import { namedSecrets } from '../store/credentials.ts';
import type { Credentials, NodeEntry } from '../store/store.ts';

/**
 * A node as routing looks at it, for somebody who may not read Secrets: whether a credential resolves is what the
 * controller wrote into the condition CredentialsResolved. Where `hasStatus` is false nothing is known of it, and each
 * is taken to resolve.
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

/** Nothing is ever sent from here, so the connection holds no credential. */
function resolved({ spec }: UpstreamNode): Credentials {
  const { baseURL, authentication, timeouts } = spec;
  const connection = { baseURL, authentication, headers: [], timeouts };
  return { state: 'Resolved', connection, apiKeySet: false, secretResourceVersion: '' };
}
