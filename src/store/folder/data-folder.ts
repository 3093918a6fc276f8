import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { forceFolder } from './force-folder.ts';
import { makeFolder } from './make-folder.ts';

const temporaryPrefix = '.tmp-';

/**
 * Files of a folder that survive a `kill -9` or a power cut at any moment: each is written whole under another name,
 * forced to disk and renamed, so a reader finds the old text or the new one. Files are 0600 and folders 0700.
 * Paths are relative to the folder, of parts that are names of Kubernetes objects.
 */
export class DataFolder {
  readonly #root: string;
  #temporary = 0;

  private constructor(root: string) {
    this.#root = root;
  }

  /** Makes the folder and those in it where they are missing. Call `clean` once nobody else can write to it. */
  static async open(root: string, folders: readonly string[]): Promise<DataFolder> {
    for (const folder of ['', ...folders]) await makeFolder(join(root, folder), 0o700);
    return new DataFolder(root);
  }

  path(...parts: string[]): string {
    return join(this.#root, ...parts);
  }

  /** Removes what writes that were cut off left behind. */
  async clean(): Promise<void> {
    for (const entry of await readdir(this.#root, { recursive: true, withFileTypes: true })) {
      if (entry.isFile() && entry.name.startsWith(temporaryPrefix))
        await unlink(join(entry.parentPath, entry.name));
    }
  }

  /** Settles when the text is on disk. */
  async write(path: string, text: string): Promise<void> {
    const target = this.path(path);
    const folder = dirname(target);
    const made = await mkdir(folder, { recursive: true, mode: 0o700 });
    this.#temporary += 1;
    const temporary = join(folder, `${temporaryPrefix}${process.pid}-${this.#temporary}`);
    try {
      const file = await open(temporary, 'wx', 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, target);
    } catch (error) {
      await unlink(temporary).catch(() => {});
      throw error;
    }
    await forceFolder(folder);
    // A folder that was made just now must not be lost either.
    if (made !== undefined) await forceFolder(dirname(folder));
  }

  /** Settles when the file is gone from disk. Nothing happens if there is none. */
  async remove(path: string): Promise<void> {
    const target = this.path(path);
    try {
      await unlink(target);
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    await forceFolder(dirname(target));
  }

  /** The text of a file; undefined when there is none. */
  async read(path: string): Promise<string | undefined> {
    try {
      return await readFile(this.path(path), 'utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** The files of a folder and the folders in it, relative to the root; none when it does not exist. */
  async list(folder: string): Promise<string[]> {
    try {
      const entries = await readdir(this.path(folder), { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
        .map((entry) => join(entry.parentPath, entry.name).slice(this.#root.length + 1));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** A folder and those directly in it, as absolute paths; none when it does not exist. */
  async folders(folder: string): Promise<string[]> {
    try {
      const entries = await readdir(this.path(folder), { withFileTypes: true });
      const below = entries.filter((entry) => entry.isDirectory()).map(({ name }) => this.path(folder, name));
      return [this.path(folder), ...below];
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
