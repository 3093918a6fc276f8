import { access, constants, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { withExclusiveLock } from './exclusive-lock.ts';

/** What is got once and then stays in the user's cache folder. */
export interface Cached<T> {
  /** Of its folder, within this project's part of the cache. */
  readonly name: string;
  /** What the folder holds; undefined while it is missing or not whole. */
  find(folder: string): Promise<T | undefined>;
  /** Fills the folder, as the only process that does. @throws with a text that names all ways when none works */
  get(folder: string): Promise<void>;
  /** Another process is getting it. */
  onWait?(): void;
  /** How long another process may take. */
  readonly timeoutMs: number;
}

/** What the cache holds, or is made to hold. @throws what `get` throws, and when the folder is not whole after it */
export async function fromCache<T>(wanted: Cached<T>, env: NodeJS.ProcessEnv = process.env): Promise<T> {
  const { name, find, get, onWait = () => {}, timeoutMs } = wanted;
  const folder = cacheFolder(name, env);
  const found = await find(folder);
  if (found !== undefined) return found;
  await mkdir(dirname(folder), { recursive: true });
  return withExclusiveLock(`${folder}.lock`, timeoutMs, onWait, async () => {
    const made = await find(folder);
    if (made !== undefined) return made;
    await get(folder);
    const got = await find(folder);
    if (got === undefined) throw new Error(`${folder} is not whole, though nothing failed; remove it`);
    return got;
  });
}

/** The folder of this name in this project's part of the user's cache. */
export function cacheFolder(name: string, env: NodeJS.ProcessEnv = process.env): string {
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'model-gateway', name);
}

/** The paths of these programs; undefined when one of them is missing or cannot be run. */
export async function programsIn<Name extends string>(
  folder: string,
  names: readonly Name[],
): Promise<Record<Name, string> | undefined> {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const paths = names.map((name) => [name, join(folder, name + suffix)] as const);
  for (const [, path] of paths) if (!(await isExecutable(path))) return undefined;
  return Object.fromEntries(paths) as Record<Name, string>;
}

export function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
