import { stringify } from 'yaml';
import { authored } from '../../store/folder/identified.ts';
import type { ResourceOf } from '../../store/store.ts';
import type { Declared } from './declarations.ts';
import type { FolderData } from './folder-data.ts';

/** A key that was made through `/v1/keys` and lies in the data folder, as if it were declared. */
export async function declaredMade(
  data: FolderData,
  { key, file }: { readonly key: ResourceOf['APIKey']; readonly file: string },
): Promise<Declared<'APIKey'>> {
  const { status: _, metadata, ...others } = authored(key);
  const { namespace, name } = metadata;
  return {
    resource: { ...(await data.withStatus(key)), metadata: key.metadata },
    version: `made ${key.metadata.uid}`,
    source: file,
    managedBy: 'the keys API (/v1/keys)',
    manifest: stringify({ ...others, metadata: { name, namespace } }, { lineWidth: 0, compat: 'yaml-1.1' }),
  };
}
