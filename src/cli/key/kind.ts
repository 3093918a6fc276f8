import type { ApiKey } from '../../resources/api-key.ts';
import type { MasterKey } from '../../resources/master-key.ts';
import type { Declared } from '../edit/declarations.ts';
import type { Words } from '../named.ts';

/** Both kinds of keys have the same commands. */
type KeyKind = 'APIKey' | 'MasterKey';
export type AnyKey = ApiKey | MasterKey;
export type DeclaredKey = Declared<KeyKind>;
export type KeyWords = Words<KeyKind>;

export const apiKeyWords: KeyWords = { kind: 'APIKey', group: 'key', noun: 'key' };
export const masterKeyWords: KeyWords = { kind: 'MasterKey', group: 'masterkey', noun: 'master key' };
