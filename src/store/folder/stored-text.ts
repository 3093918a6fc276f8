import type { ApiKey } from '../../resources/api-key.ts';
import { parseStored } from '../../resources/parse.ts';
import type { Secret } from '../../resources/secret.ts';

interface StoredAlone {
  APIKey: ApiKey;
  Secret: Secret;
}

/** The resource that a file of the data folder holds as JSON; undefined where there is no file or it is damaged. */
export function fromStoredText<K extends keyof StoredAlone>(
  kind: K,
  text: string | undefined,
): StoredAlone[K] | undefined {
  if (text === undefined) return undefined;
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = parseStored(document);
  return 'resource' in parsed && parsed.resource.kind === kind
    ? (parsed.resource as StoredAlone[K])
    : undefined;
}
