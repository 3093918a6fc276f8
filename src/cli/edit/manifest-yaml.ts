import { stringify } from 'yaml';
import { authored } from '../../store/folder/identified.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';

/** An object as the text of a manifest. kubectl reads YAML 1.1, in which `on` and `1:30` are not strings. */
export function manifestYaml(object: unknown): string {
  return stringify(object, { lineWidth: 0, compat: 'yaml-1.1' });
}

/** A manifest for a resource that has none: without status, and without what the API server adds. */
export function recordedManifest(resource: ResourceOf[Kind]): string {
  const { status: _, metadata, ...others } = authored(resource);
  const { namespace, name } = metadata;
  return manifestYaml({ ...others, metadata: { name, namespace } });
}
