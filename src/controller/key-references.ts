import type { Kind } from '../store/store.ts';
import type { Key } from './keys/key.ts';

/** A key resource to reconcile again. */
export interface KeyReference {
  readonly kind: Exclude<Kind, 'UpstreamNode'>;
  /** `namespace/name`. */
  readonly id: string;
}

/** Which key resources name a Secret or a model, and must be reconciled when it changes. */
export class KeyReferences {
  readonly #bySecret = new Map<string, Map<string, KeyReference>>();
  readonly #byModel = new Map<string, Map<string, KeyReference>>();

  /** Replaces `before` by `after`, two versions of one resource; either may be absent. */
  replace(before: Key | undefined, after: Key | undefined): void {
    if (before !== undefined && after !== undefined && before.spec === after.spec) return;
    if (before !== undefined) this.#change(before, remove);
    if (after !== undefined) this.#change(after, add);
  }

  /** The keys that name this Secret. */
  ofSecret(namespace: string, name: string): Iterable<KeyReference> {
    return this.#bySecret.get(`${namespace}/${name}`)?.values() ?? [];
  }

  /** The keys whose allowlist names the model. */
  ofModel(name: string): Iterable<KeyReference> {
    return this.#byModel.get(name)?.values() ?? [];
  }

  #change(key: Key, change: typeof add): void {
    const { namespace, name } = key.metadata;
    const reference: KeyReference = { kind: key.kind, id: `${namespace}/${name}` };
    if (key.spec.secretName !== undefined) {
      change(this.#bySecret, `${namespace}/${key.spec.secretName}`, reference);
    }
    if (key.kind !== 'APIKey') return;
    for (const model of key.spec.models ?? []) change(this.#byModel, model, reference);
  }
}

type References = Map<string, Map<string, KeyReference>>;

function add(references: References, of: string, reference: KeyReference): void {
  const known = references.get(of) ?? new Map<string, KeyReference>();
  known.set(`${reference.kind}/${reference.id}`, reference);
  references.set(of, known);
}

function remove(references: References, of: string, reference: KeyReference): void {
  const known = references.get(of);
  if (known === undefined) return;
  known.delete(`${reference.kind}/${reference.id}`);
  if (known.size === 0) references.delete(of);
}
