import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorText } from '../../observe/error-text.ts';
import type { Log } from '../../observe/log.ts';
import type { AppliedLog } from './applied-log.ts';
import type { DamagedRows } from './damaged-rows.ts';
import type { Breathe } from './declarations.ts';
import type { DirectoryObjects } from './directory-objects.ts';
import { FaultLog } from './fault-log.ts';
import type { ManifestProblems } from './manifest-problems.ts';
import type { Manifests } from './manifests.ts';
import type { FileNews, FolderReader } from './read-folder.ts';

interface Parts {
  readonly reader: FolderReader;
  readonly manifests: Manifests;
  readonly objects: DirectoryObjects;
  readonly damaged: DamagedRows;
  readonly problems: ManifestProblems;
  readonly applied: AppliedLog;
  readonly log: Log;
  readonly folder: string;
}

/**
 * Makes the function that reads what changed in the folder and applies it. It never rejects, and returns what kept the
 * changes from being applied; they are then tried again by the next call.
 */
export function folderLook(parts: Parts): () => Promise<unknown> {
  const { reader, manifests, objects, damaged, problems, applied, log, folder } = parts;
  const listing = new FaultLog(log, {
    begins: 'The folder of manifests cannot be read; what it held last stays in force',
    ends: 'The folder of manifests can be read again',
  });
  /** Objects that changed and were not applied yet. */
  const touched = new Set<string>();
  // The first look always judges: a folder without files has no news, and the problems of the last run are over.
  let hasNews = true;

  async function take(news: FileNews, breathe: Breathe): Promise<void> {
    if ('problem' in news) {
      const remedy = 'make it readable; until then what it held last stays in force';
      manifests.noteUnreadable(news.file, `cannot be read: ${news.problem}`, remedy);
      log.error({ file: news.file, reason: news.problem, remedy }, 'A manifest file cannot be read');
      return;
    }
    const { file, text } = news;
    const ids = text === undefined ? manifests.remove(file) : await manifests.replace(file, text, breathe);
    if (text === undefined) applied.noteDeleted(file);
    for (const id of ids) touched.add(id);
  }

  async function read(breathe: Breathe): Promise<void> {
    try {
      for await (const news of reader.news()) {
        hasNews = true;
        await take(news, breathe);
      }
      hasNews = manifests.noteFolder(undefined) || hasNews;
      listing.worked({ folder });
    } catch (error) {
      hasNews = manifests.noteFolder(`cannot be read: ${errorText(error)}`) || hasNews;
      listing.failed(error, { folder });
    }
  }

  return async () => {
    const breathe = breather();
    await read(breathe);
    try {
      await objects.apply(touched, breathe);
      await objects.keepUnreadable(breathe);
      touched.clear();
      applied.tell();
      if (hasNews)
        await problems.replace(
          [...damaged.problems(), ...manifests.problems(), ...objects.problems()],
          (file) => manifests.holds(file),
        );
      hasNews = false;
      await objects.sweep(breathe);
      return undefined;
    } catch (error) {
      return error;
    }
  };
}

const turnMs = 5;

/** Yields to the event loop if it was blocked for a while, so that requests need not wait for a large file. */
export function breather(): Breathe {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < turnMs) return;
    await nextTurn();
    since = performance.now();
  };
}
