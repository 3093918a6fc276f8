import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../observe/log.ts';

export interface WatchFolderOptions {
  readonly folder: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** How long the folder must be quiet before it is looked at, so that a file is not read while it is written. */
  readonly quietMs: number;
  /** How often it is looked at without being told, for file systems that do not tell (network mounts). */
  readonly pollMs: number;
}

/**
 * Calls `look` after every change below a folder, one call at a time, until the signal aborts; settles when the last
 * call has ended. `look` must not throw.
 */
export async function watchFolder(options: WatchFolderOptions, look: () => Promise<void>): Promise<void> {
  const { signal, quietMs, pollMs } = options;
  const bell = new Bell();
  let watcher: FSWatcher | undefined;
  while (!signal.aborted) {
    // A watch ends when its folder is removed or replaced: begin another as soon as there is one.
    watcher ??= startWatch(options, bell, () => {
      watcher = undefined;
    });
    const rung = await bell.rings(pollMs, signal);
    // Files written over a longer time ring on and on; look once a second all the same, or a revocation would wait.
    const latest = performance.now() + 10 * quietMs;
    while (rung && !signal.aborted && performance.now() < latest) {
      if (!(await bell.rings(quietMs, signal))) break;
    }
    if (!signal.aborted) await look();
  }
  watcher?.close();
}

function startWatch(options: WatchFolderOptions, bell: Bell, ended: () => void): FSWatcher | undefined {
  const { folder, log } = options;
  try {
    const watcher = watch(folder, { recursive: true, persistent: false }, () => bell.ring());
    watcher.on('error', (error) => {
      log.warn(
        { err: error, folder },
        'The watch on a folder ended; changes are found by looking until it is back',
      );
      watcher.close();
      ended();
    });
    return watcher;
  } catch {
    return undefined;
  }
}

/** Rings that nobody heard are remembered as one. */
class Bell {
  #rung = Promise.withResolvers<void>();

  ring(): void {
    this.#rung.resolve();
  }

  /** Whether it rang before the time was over. */
  async rings(withinMs: number, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const rang = await Promise.race([
      this.#rung.promise.then(() => true),
      wait(withinMs, false, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => false),
    ]);
    over.abort();
    if (rang) this.#rung = Promise.withResolvers<void>();
    return rang;
  }
}
