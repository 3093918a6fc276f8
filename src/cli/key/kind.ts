import type { ApiKey } from '../../resources/api-key.ts';
import type { MasterKey } from '../../resources/master-key.ts';
import type { Declarations, Declared, Ref } from '../edit/declarations.ts';

/** Both kinds of keys have the same commands. */
export type KeyKind = 'APIKey' | 'MasterKey';
export type AnyKey = ApiKey | MasterKey;
export type DeclaredKey = Declared<KeyKind>;

/** How commands call a kind of key. */
export interface KeyWords {
  readonly kind: KeyKind;
  /** The group of commands: `key create`. */
  readonly group: 'key' | 'masterkey';
  /** In sentences. */
  readonly noun: string;
}

export const apiKeyWords: KeyWords = { kind: 'APIKey', group: 'key', noun: 'key' };
export const masterKeyWords: KeyWords = { kind: 'MasterKey', group: 'masterkey', noun: 'master key' };

/** A key by the name that people write, with or without what `-o name` puts before it. */
export function keyRef(place: Declarations, { kind }: KeyWords, name: string): Ref<KeyKind> {
  const bare = name.replace(/^(apikeys?|masterkeys?)(\.modelgateway\.dev)?\//i, '');
  return { kind, namespace: place.namespace, name: bare };
}
