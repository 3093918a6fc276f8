import { isDeepStrictEqual } from 'node:util';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { Change } from '../../store/store.ts';

/** Whether the connection fields of a node changed, so that what was seen of it before no longer applies. */
export function isConnectionChange(change: Change): boolean {
  if (change.kind === 'Credentials') return true;
  if (change.kind !== 'UpstreamNode' || change.before === undefined || change.after === undefined)
    return false;
  const { before, after } = change;
  if (before.metadata.uid !== after.metadata.uid) return true;
  return before.spec !== after.spec && !isDeepStrictEqual(connectionOf(before), connectionOf(after));
}

function connectionOf({ spec }: UpstreamNode) {
  const { baseURL, apiKeySecretRef, encryptedAPIKey, authentication, headers, tls, timeouts } = spec;
  return { baseURL, apiKeySecretRef, encryptedAPIKey, authentication, headers, tls, timeouts };
}
