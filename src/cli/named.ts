import type { Kind } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { DeclarationError, type Declarations, type Declared, type Ref } from './edit/declarations.ts';
import { isFolder, type PlaceFlags } from './place.ts';

/** How commands call a kind of resource. */
export interface Words<K extends Kind = Kind> {
  readonly kind: K;
  /** The group of commands: `key create`. */
  readonly group: 'node' | 'key' | 'masterkey';
  /** The name of the kind in messages, such as `node`. */
  readonly noun: string;
}

export const nodeWords: Words<'UpstreamNode'> = { kind: 'UpstreamNode', group: 'node', noun: 'node' };

/** A resource as a person named it, and as it was read. */
export interface Named<K extends Kind = Kind> {
  readonly name: string;
  readonly ref: Ref<K>;
  readonly before: Declared<K>;
}

const prefix = /^(upstreamnode|node|apikey|key|masterkey)s?(\.modelgateway\.dev)?\//i;

/** A resource by the name that people write, with or without what `-o name` puts before it. */
export function namedRef<K extends Kind>(place: Declarations, { kind }: Words<K>, name: string): Ref<K> {
  return { kind, namespace: place.namespace, name: name.replace(prefix, '') };
}

/** Reads a resource by the name that people write. Throws DeclarationError. */
export async function readNamed<K extends Kind>(
  { signal, env }: CommandContext,
  place: Declarations,
  words: Words<K>,
  name: string,
  flags: PlaceFlags,
): Promise<Named<K>> {
  const ref = namedRef(place, words, name);
  try {
    return { name, ref, before: await place.get(ref, signal) };
  } catch (error) {
    const isMissing = error instanceof DeclarationError && error.reason === 'NotFound';
    if (!isMissing || words.kind !== 'APIKey' || !isFolder(flags, env)) throw error;
    throw new DeclarationError(
      'NotFound',
      `${error.message.replace(/\.?$/, '.')} A key that was made through /v1/keys is in the gateway's data folder: delete it there, with a master key: curl -X DELETE http://HOST:8080/v1/keys/${name} -H "Authorization: Bearer mgm_…"`,
    );
  }
}
