import type { ApiKey } from '../../resources/api-key.ts';
import { parseStored } from '../../resources/parse.ts';
import type { Secret } from '../../resources/secret.ts';
import { jsonValue } from './json-value.ts';

interface StoredAlone {
  APIKey: ApiKey;
  Secret: Secret;
}

/** The resource that a row of the state file holds as JSON; undefined if there is no row or it is damaged. */
export function fromStoredText<K extends keyof StoredAlone>(
  kind: K,
  text: string | undefined,
): StoredAlone[K] | undefined {
  if (text === undefined) return undefined;
  const parsed = parseStored(jsonValue(text));
  return 'resource' in parsed && parsed.resource.kind === kind
    ? (parsed.resource as StoredAlone[K])
    : undefined;
}
