import { isUtf8 } from 'node:buffer';
import type { Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { errorCode, errorText } from '../../observe/error-text.ts';

/** Differs if a file changed; made without reading it. */
type Mark = string;

export type FileNews =
  | { readonly file: string; readonly text: string }
  /** It was deleted. */
  | { readonly file: string; readonly text: undefined }
  | { readonly file: string; readonly problem: string };

/** Bounds of a folder of manifests. */
const maxFiles = 20_000;
const maxFolders = 2_000;
const maxDepth = 16;
const maxFileBytes = 64 * 1024 * 1024;
/** Files that are read at once: one after the other, 10,000 took seconds of waiting. */
const readAtOnce = 16;
/** The most walks for one look at a folder whose files are renamed at the same time. */
const maxWalks = 5;
/** A file that was written less than this ago may change again and keep its modification time. */
const unsettledMs = 50;

/**
 * The `.yaml`, `.yml` and `.json` files below a folder, in the order of their paths.
 *
 * Names that start with a dot are skipped, and links are followed: a mounted ConfigMap holds links into a hidden folder
 * that is replaced at every change.
 */
export class FolderReader {
  readonly #root: string;
  readonly #now: () => number;
  readonly #marks = new Map<string, Mark>();
  #folders: readonly string[];
  readonly #problems = new Map<string, string>();

  /** `now` in milliseconds since 1970, as the file system counts. */
  constructor(root: string, now: () => number) {
    this.#root = root;
    this.#now = now;
    this.#folders = [root];
  }

  /** The folders that the last look read, to be watched. */
  get folders(): Iterable<string> {
    return this.#folders;
  }

  /**
   * Yields what changed since the last call. A file that cannot be read is yielded once for each problem.
   * @throws Error if the folder itself cannot be read: then nothing is known, in particular not that files were deleted
   */
  async *news(): AsyncGenerator<FileNews> {
    const found = await this.#look();
    for (const file of [...this.#marks.keys()].filter((known) => !found.has(known))) {
      this.#marks.delete(file);
      this.#problems.delete(file);
      yield { file, text: undefined };
    }
    const changed = [...found]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .filter(([file, stats]) => this.#marks.get(file) !== markOf(stats));
    const reading = inTurn(changed, async ([file, stats]) => {
      // Before it is read: what is written after that must be noticed.
      const isUnsettled = this.#isUnsettled(stats);
      return { isUnsettled, read: await this.#read(file, stats) };
    });
    for await (const [[file, stats], { isUnsettled, read }] of reading) {
      if (read === undefined) continue;
      const problem = 'problem' in read ? read.problem : undefined;
      const isKnown = problem !== undefined && this.#problems.get(file) === problem;
      if (problem === undefined) this.#problems.delete(file);
      else this.#problems.set(file, problem);
      const mark = markOf(stats);
      this.#marks.set(file, problem !== undefined || isUnsettled ? `${mark}?` : mark);
      if (!isKnown) yield read;
    }
  }

  #isUnsettled(stats: Stats | Error): boolean {
    return !(stats instanceof Error) && this.#now() - stats.mtimeMs < unsettledMs;
  }

  async #read(file: string, stats: Stats | Error): Promise<FileNews | undefined> {
    if (stats instanceof Error) return { file, problem: stats.message };
    if (stats.size > maxFileBytes)
      return { file, problem: `it is larger than ${maxFileBytes} bytes; split it` };
    try {
      const bytes = await readFile(join(this.#root, file));
      if (!isUtf8(bytes)) return { file, problem: 'it is not UTF-8 text; save it as UTF-8' };
      return { file, text: bytes.toString('utf8') };
    } catch (error) {
      // Deleted since it was listed: the next look reports that.
      if (errorCode(error) === 'ENOENT') return undefined;
      return { file, problem: errorText(error) };
    }
  }

  /** A file that is renamed during a walk may be seen under neither name, so the walk is repeated for missing files. */
  async #look(): Promise<Map<string, Stats | Error>> {
    let found = await this.#walk();
    let gone = this.#goneFrom(found);
    for (let walks = 1; gone !== '' && walks < maxWalks; walks += 1) {
      const before = gone;
      found = await this.#walk();
      gone = this.#goneFrom(found);
      if (gone === before) break;
    }
    return found;
  }

  #goneFrom(found: ReadonlyMap<string, unknown>): string {
    return [...this.#marks.keys()].filter((known) => !found.has(known)).join('\n');
  }

  async #walk(): Promise<Map<string, Stats | Error>> {
    const found = new Map<string, Stats | Error>();
    const folders: Folder[] = [{ path: this.#root, above: [] }];
    const walked: string[] = [];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      walked.push(folder.path);
      if (walked.length > maxFolders) throw new Error(`${this.#root} holds more than ${maxFolders} folders`);
      const names = (await this.#names(folder.path)).filter((name) => !name.startsWith('.'));
      const { path: above } = folder;
      for await (const [name, stats] of inTurn(names, (each) => statOf(join(above, each)))) {
        const path = join(above, name);
        const isManifest = /\.(?:ya?ml|json)$/i.test(name);
        if (stats === undefined) continue;
        if (stats instanceof Error ? isManifest : isManifest && stats.isFile()) {
          if (found.size >= maxFiles)
            throw new Error(`${this.#root} holds more than ${maxFiles} manifest files`);
          found.set(relative(this.#root, path), stats);
        } else if (!(stats instanceof Error) && stats.isDirectory() && folder.above.length < maxDepth) {
          // A link to a folder above it would be followed endlessly.
          const id = `${stats.dev}-${stats.ino}`;
          if (!folder.above.includes(id)) folders.push({ path, above: [...folder.above, id] });
        }
      }
    }
    this.#folders = walked;
    return found;
  }

  async #names(folder: string): Promise<string[]> {
    try {
      return await readdir(folder);
    } catch (error) {
      if (folder !== this.#root && errorCode(error) === 'ENOENT') return [];
      throw error;
    }
  }
}

/** A folder to be walked, and the device and inode numbers of it and of those above it, below the root. */
interface Folder {
  readonly path: string;
  readonly above: readonly string[];
}

/** Yields every item with the result of `work`, in their order; some are worked on at once. */
async function* inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): AsyncGenerator<[T, R]> {
  for (let at = 0; at < items.length; at += readAtOnce) {
    const some = items.slice(at, at + readAtOnce);
    yield* await Promise.all(some.map(async (item): Promise<[T, R]> => [item, await work(item)]));
  }
}

/** Undefined if there is no such file, for example if the target of a link is being replaced. */
async function statOf(path: string): Promise<Stats | Error | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    return error instanceof Error ? error : new Error(errorText(error));
  }
}

function markOf(stats: Stats | Error): Mark {
  if (stats instanceof Error) return stats.message;
  return `${stats.ino}-${stats.size}-${stats.mtimeMs}-${stats.ctimeMs}`;
}
