import { isDeepStrictEqual } from 'node:util';
import { createLog } from '../../observe/log.ts';
import { watchFolders } from '../../store/folder/watch-folders.ts';
import type { Kind } from '../../store/store.ts';
import { type Change, type Declared, refOf } from './declarations.ts';

const quietMs = 60;
const pollMs = 2_000;

/** A watch of one kind as `Declarations.watch` describes it: the folder is read again after each change in it. */
export async function watchFolder<K extends Kind>(options: {
  /** The folders to watch. */
  folders: () => Promise<readonly string[]>;
  list: () => Promise<readonly Declared<K>[]>;
  sink: (change: Change<K>) => void;
  signal: AbortSignal;
  listed: (() => void) | undefined;
}): Promise<void> {
  const { folders, list, sink, signal } = options;
  let known = new Map<string, Declared<K>>();

  async function look(): Promise<void> {
    const found = new Map((await list()).map((each) => [idOf(each), each]));
    const before = known;
    known = found;
    for (const [id, old] of before)
      if (!found.has(id)) sink({ ref: refOf(old), before: old, after: undefined });
    for (const [id, now] of found) {
      const old = before.get(id);
      const isSame =
        old !== undefined && old.version === now.version && isDeepStrictEqual(old.resource, now.resource);
      if (!isSame) sink({ ref: refOf(now), before: old, after: now });
    }
  }

  await look();
  options.listed?.();
  let watched = await folders();
  await watchFolders(watched, { log: silent, signal, quietMs, pollMs }, async () => {
    // If the folder cannot be read for a moment, what was reported last counts until it can.
    await look().catch(() => {});
    watched = await folders().catch(() => watched);
    return watched;
  });
}

const silent = createLog({ level: 'error', format: 'json', role: 'cli', destination: { write: () => {} } });

function idOf({ resource: { metadata } }: Declared): string {
  return `${metadata.namespace}/${metadata.name}`;
}
