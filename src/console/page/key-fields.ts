import type { KeyKind } from './keys-page.ts';

/** Fields of a key that can be changed after it was made. */
export const changeable: Readonly<Record<KeyKind, readonly string[]>> = {
  APIKey: ['displayName', 'enabled', 'expirationTime', 'models', 'priority', 'conversion', 'nodeNamespaces'],
  MasterKey: ['displayName', 'enabled', 'expirationTime'],
};
