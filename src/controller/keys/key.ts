import type { ApiKey, ApiKeyStatus } from '../../resources/api-key.ts';
import { checkKeyText, type KeyTextKind, keyTextKind } from '../../resources/key-text.ts';
import type { MasterKey } from '../../resources/master-key.ts';

/** Both kinds of keys: their sources, rotation and status are the same. */
export type Key = ApiKey | MasterKey;
export type KeyStatus = ApiKeyStatus;

/** The kind of key text that a resource has. */
export function textKindOf(key: Key): KeyTextKind {
  return key.kind === 'APIKey' ? 'api' : 'master';
}

/**
 * Whether a text is a key that was generated for this kind of resource. Only such a text is ever taken from a Secret:
 * its hash goes into the status, where that of a short hand-made text could be guessed back.
 */
export function isGenerated(key: Key, text: string): boolean {
  return checkKeyText(text) === 'ours' && keyTextKind(text) === textKindOf(key);
}

/** The revision that the spec asks for; 0 where it says nothing of rotation. */
export function wantedRevision(key: Key): number {
  return key.spec.rotation?.revision ?? 0;
}
