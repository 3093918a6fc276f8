import { type FSWatcher, watch } from 'node:fs';
import { basename } from 'node:path';
import type { Log } from '../../observe/log.ts';

export interface WatchFoldersOptions {
  readonly log: Log;
  readonly signal: AbortSignal;
  /** How long the folders must be unchanged before they are read, so that a file is not read while it is written. */
  readonly quietMs: number;
  /**
   * How often the folders are read without a notification, because network mounts do not notify; less often if reading
   * them takes long.
   */
  readonly pollMs: number;
}

/** The most time that this polling may take, as a share: a thousand files took a tenth of a busy gateway's time. */
const pollShare = 0.01;
const longestPollMs = 60_000;

/**
 * Calls `look` after every change in some folders, one call at a time, until the signal aborts. Settles when the last call
 * has ended. `look` returns the folders to watch from then on, and must not throw.
 *
 * Each folder has a watch of its own: Node's recursive watch misses files that were replaced by renaming (seen on
 * Linux, Node 24).
 */
export async function watchFolders(
  folders: Iterable<string>,
  options: WatchFoldersOptions,
  look: () => Promise<Iterable<string>>,
): Promise<void> {
  const { signal, quietMs, pollMs } = options;
  const bell = new Bell();
  const watches = new Watches(options.log, bell);
  watches.follow(folders);
  let tookMs = 0;
  while (!signal.aborted) {
    const patience = Math.max(pollMs, Math.min(tookMs / pollShare, longestPollMs));
    const rung = await bell.rings(patience, signal);
    // If files change all the time, look nevertheless: a revocation must not wait for them.
    const latest = performance.now() + 5 * quietMs;
    while (rung && !signal.aborted && performance.now() < latest) {
      if (!(await bell.rings(quietMs, signal))) break;
    }
    if (signal.aborted) break;
    const began = performance.now();
    watches.follow(await look());
    tookMs = performance.now() - began;
  }
  watches.follow([]);
}

class Watches {
  readonly #log: Log;
  readonly #bell: Bell;
  readonly #watches = new Map<string, FSWatcher>();
  #refused = false;

  constructor(log: Log, bell: Bell) {
    this.#log = log;
    this.#bell = bell;
  }

  follow(folders: Iterable<string>): void {
    const wanted = new Set(folders);
    for (const [folder, watcher] of this.#watches) {
      if (!wanted.has(folder)) this.#end(folder, watcher);
    }
    for (const folder of wanted) {
      if (!this.#watches.has(folder)) this.#begin(folder);
    }
  }

  #begin(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        // The watch of a renamed folder follows it; the folder that has its name now needs another watch.
        if (event === 'rename' && (name === null || name === basename(folder))) this.#end(folder, watcher);
        this.#bell.ring();
      });
      watcher.on('error', () => {
        this.#end(folder, watcher);
        this.#bell.ring();
      });
      this.#watches.set(folder, watcher);
      // A change between the look and this moment would otherwise wait for the next poll.
      this.#bell.ring();
    } catch (error) {
      if (!this.#refused) {
        this.#log.warn(
          { err: error, folder },
          'A folder cannot be watched; its changes are found by looking now and then',
        );
      }
      this.#refused = true;
    }
  }

  #end(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#watches.get(folder) === watcher) this.#watches.delete(folder);
  }
}

/** Collects notifications: those that arrive while nobody waits count as one. */
class Bell {
  #rung = false;
  #heard: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#heard?.();
  }

  /** Whether it rang within the time. No `Promise.race`: a promise that waits for a ring would retain every poll until then. */
  rings(withinMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const over = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', over);
        this.#heard = undefined;
        const rang = this.#rung;
        this.#rung = false;
        resolve(rang);
      };
      const timer = setTimeout(over, withinMs);
      signal.addEventListener('abort', over);
      this.#heard = over;
      if (this.#rung || signal.aborted) over();
    });
  }
}
