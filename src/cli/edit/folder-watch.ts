import { isDeepStrictEqual } from 'node:util';
import { createLog } from '../../observe/log.ts';
import { watchFolders } from '../../store/folder/watch-folders.ts';
import type { Kind } from '../../store/store.ts';
import type { Declared, Ref } from './declarations.ts';

const quietMs = 60;
const pollMs = 2_000;

/** A watch of one kind as `Declarations.watch` describes it: the folder is read again after each change in it. */
export async function watchFolder<K extends Kind>(options: {
  kind: K;
  /** The folders to watch. */
  folders: () => Promise<readonly string[]>;
  list: () => Promise<readonly Declared<K>[]>;
  sink: (change: {
    readonly ref: Ref<K>;
    readonly before: Declared<K> | undefined;
    readonly after: Declared<K> | undefined;
  }) => void;
  signal: AbortSignal;
  listed: (() => void) | undefined;
}): Promise<void> {
  const { kind, folders, list, sink, signal } = options;
  let known = new Map<string, Declared<K>>();

  async function look(): Promise<void> {
    const found = new Map((await list()).map((each) => [idOf(each), each]));
    const before = known;
    known = found;
    for (const [id, old] of before) if (!found.has(id)) tell(id, old, undefined);
    for (const [id, now] of found) {
      const old = before.get(id);
      const isSame =
        old !== undefined && old.version === now.version && isDeepStrictEqual(old.resource, now.resource);
      if (!isSame) tell(id, old, now);
    }
  }

  function tell(id: string, before: Declared<K> | undefined, after: Declared<K> | undefined): void {
    const [namespace = '', name = ''] = id.split('/');
    sink({ ref: { kind, namespace, name }, before, after });
  }

  await look();
  options.listed?.();
  let watched = await folders();
  await watchFolders(watched, { log: silent, signal, quietMs, pollMs }, async () => {
    // A folder that cannot be read for a moment: what was told last stands until it can.
    await look().catch(() => {});
    watched = await folders().catch(() => watched);
    return watched;
  });
}

const silent = createLog({ level: 'error', format: 'json', role: 'cli', destination: { write: () => {} } });

function idOf({ resource: { metadata } }: Declared): string {
  return `${metadata.namespace}/${metadata.name}`;
}
