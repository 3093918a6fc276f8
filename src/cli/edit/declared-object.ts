import { hash } from 'node:crypto';
import { apiVersion, parseStored } from '../../resources/parse.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';
import type { Declared } from './declarations.ts';
import { type FieldTree, union } from './field-tree.ts';
import { statedSpec } from './kind-schema.ts';
import { managedBy } from './managed-by.ts';
import { type Ownership, ownershipOf, ownersIn } from './managed-fields.ts';
import { manifestYaml } from './manifest-yaml.ts';

/** What of an object people declare: the rest is the server's and the controller's. */
export interface Body {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** kubectl's own memory of what it applied: no wish of anybody's, and long. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Labels, annotations and spec of an object as the API server gave it. */
export function bodyOf(object: unknown): Body {
  const { metadata = {}, spec = {} } = object as {
    metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
    spec?: Record<string, unknown>;
  };
  const { labels, annotations } = metadata;
  return { metadata: { ...(labels && { labels }), ...(annotations && { annotations }) }, spec };
}

/** A digest of what people declare of an object, and of which object it is. */
export function versionOf(object: unknown): string {
  const { uid } = (object as { metadata?: { uid?: string } }).metadata ?? {};
  const { metadata, spec } = bodyOf(object);
  return hash('sha1', JSON.stringify([uid, metadata.labels, metadata.annotations, spec]), 'hex');
}

/** An object of the API server as `Declared`; undefined where it is not an object of the kind that we can read. */
export function declaredObject<K extends Kind>(kind: K, object: unknown): Declared<K> | undefined {
  const parsed = parseStored(object);
  if (!('resource' in parsed) || parsed.resource.kind !== kind) return undefined;
  const resource = parsed.resource as ResourceOf[K];
  const ownership = ownershipOf(object);
  let manifest: string | undefined;
  let owners: ReturnType<typeof ownersIn> | undefined;
  return {
    resource,
    version: versionOf(object),
    source: undefined,
    managedBy: managedBy(resource, ownership),
    // Made when they are asked for: a list of a thousand nodes asks for none.
    get manifest() {
      manifest ??= manifestOf(kind, object, ownership);
      return manifest;
    },
    get owners() {
      owners ??= ownersIn(ownership);
      return owners;
    },
  };
}

function manifestOf(kind: Kind, object: unknown, ownership: Ownership): string {
  const { name, namespace } = (object as { metadata: { name: string; namespace: string } }).metadata;
  const { metadata, spec } = bodyOf(object);
  const { [lastApplied]: _, ...annotations } = metadata.annotations ?? {};
  const stated = [
    ownership.ours,
    ...ownership.others.filter(({ isApply }) => isApply).map((each) => each.fields),
  ];
  return manifestYaml({
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      ...(metadata.labels && { labels: metadata.labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: statedSpec(kind, spec, stated.reduce<FieldTree>(union, {})),
  });
}
