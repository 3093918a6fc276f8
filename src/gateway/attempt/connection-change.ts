import { isDeepStrictEqual } from 'node:util';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { Change } from '../../store/store.ts';

/** Whether a node is reached in another way than before, so that nothing seen of it until now says anything. */
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
