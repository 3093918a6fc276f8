import type { ApiKey } from '../../resources/api-key.ts';
import type { MasterKey } from '../../resources/master-key.ts';
import type { Secret } from '../../resources/secret.ts';
import type { Identity } from './identity-maker.ts';

/**
 * The identity of a key as the Secret that was generated for it tells: where the record of the key was lost, with
 * another uid the Secret would be somebody else's and its key refused. Undefined when the Secret is not this key's.
 */
export function ownerIdentity({ kind, metadata }: ApiKey | MasterKey, secret: Secret): Identity | undefined {
  const owner = secret.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined || owner.kind !== kind || owner.name !== metadata.name) return undefined;
  const { creationTimestamp } = secret.metadata;
  if (creationTimestamp === undefined || !owner.apiVersion.startsWith('modelgateway.dev/')) return undefined;
  return { uid: owner.uid, creationTimestamp, generation: 1 };
}
