import type { ApiKey, ApiKeyStatus } from '../../resources/api-key.ts';
import { checkKeyText, type KeyTextKind, keyTextKind } from '../../resources/key-text.ts';
import type { MasterKey } from '../../resources/master-key.ts';

/** The annotation of a key that lets it take up the Secret of an earlier object of its name, as after a restore. */
export const adoptAnnotation = 'modelgateway.dev/adopt-secret';

/** Both kinds of keys: their sources, rotation and status are the same. */
export type Key = ApiKey | MasterKey;
export type KeyStatus = ApiKeyStatus;

/** The kind of key text that a resource has. */
export function textKindOf(key: Key): KeyTextKind {
  return key.kind === 'APIKey' ? 'api' : 'master';
}

/**
 * Whether a text is a key that was generated for this kind of resource. No other text is accepted from a Secret: its hash is
 * published in the status, and the text could be guessed from the hash if it were short.
 */
export function isGenerated(key: Key, text: string): boolean {
  return checkKeyText(text) === 'ours' && keyTextKind(text) === textKindOf(key);
}

/** The revision that the spec asks for; 0 without `spec.rotation`. */
export function wantedRevision(key: Key): number {
  return key.spec.rotation?.revision ?? 0;
}
