import { type ApiKey, apiKeySchema } from '../../resources/api-key.ts';
import { apiVersion } from '../../resources/parse.ts';
import { timeOf } from '../../resources/time.ts';
import type { KeyEntry } from '../../store/store.ts';
import { readyCondition } from '../key/columns.ts';

/** A key as routing sees it. */
export function keyEntryOf(resource: ApiKey): KeyEntry {
  const { models, expirationTime } = resource.spec;
  return {
    resource,
    expiresAtMs: timeOf(expirationTime) ?? Number.POSITIVE_INFINITY,
    models: models === undefined ? undefined : new Set(models),
  };
}

/** A key of a namespace without an allowlist, to explain where requests go that use any key. */
export function anyKeyOf(namespace: string): KeyEntry {
  const spec = { hash: `sha256:${'0'.repeat(64)}` };
  return keyEntryOf(
    apiKeySchema.parse({ apiVersion, kind: 'APIKey', metadata: { namespace, name: 'any' }, spec }),
  );
}

/** Why every request with this key is refused; undefined if it is not. */
export function refusedKey({ metadata, spec, status }: ApiKey, now: Date): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  if (!spec.enabled) return 'it is disabled';
  if ((timeOf(spec.expirationTime) ?? Number.POSITIVE_INFINITY) <= now.getTime()) return 'it has expired';
  const ready = readyCondition({ metadata, spec, status } as ApiKey);
  if (ready?.status === 'False') return ready.message;
  const isKnown = spec.hash !== undefined || (status?.hashes ?? []).length > 0;
  return isKnown || status === undefined ? undefined : 'no key was issued for it yet';
}
