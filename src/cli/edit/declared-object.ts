import { hash } from 'node:crypto';
import { apiVersion, parseStored } from '../../resources/parse.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';
import type { Declared } from './declarations.ts';
import { type FieldTree, union } from './field-tree.ts';
import { statedSpec } from './kind-schema.ts';
import { managedBy } from './managed-by.ts';
import { type Ownership, ownershipOf, ownersIn } from './managed-fields.ts';
import { manifestYaml } from './manifest-yaml.ts';

/** The part of an object that people declare; the server and the controller write the rest. */
export interface Body {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What kubectl applied last, in its own annotation: nobody declares it, and it is long. */
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

/** A digest of the declared part of an object, and of its uid. */
export function versionOf(object: unknown): string {
  const { uid } = (object as { metadata?: { uid?: string } }).metadata ?? {};
  const { metadata, spec } = bodyOf(object);
  return hash('sha1', JSON.stringify([uid, metadata.labels, metadata.annotations, spec]), 'hex');
}

/** An object of the API server as `Declared`; undefined if it is of another kind, or cannot be read. */
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
    // Computed when they are read, because a list of a thousand nodes reads none.
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
