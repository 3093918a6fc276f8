import type { ResourceOf } from '../../store/store.ts';
import type { Declared } from './declarations.ts';
import type { FolderData } from './folder-data.ts';
import { recordedManifest } from './manifest-yaml.ts';

/** A key that was made through `/v1/keys`, which is in the data folder, as if it were declared. */
export async function declaredMade(
  data: FolderData,
  { key, file }: { readonly key: ResourceOf['APIKey']; readonly file: string },
): Promise<Declared<'APIKey'>> {
  return {
    resource: { ...(await data.withStatus(key)), metadata: key.metadata },
    version: `made ${key.metadata.uid}`,
    source: file,
    managedBy: 'the keys API (/v1/keys)',
    manifest: recordedManifest(key),
  };
}
