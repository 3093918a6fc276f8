import { Worker } from 'node:worker_threads';
import { Turns } from '../../upstream/turns.ts';
import type { Jobs } from './jobs.ts';

/** Bodies and answers above this are inspected and converted in the thread. */
export const largeBytes = 256 * 1024;

/** What the thread is asked, one at a time. */
export interface Asked {
  readonly kind: keyof Jobs;
  readonly wish: unknown;
}

/** What it tells then. */
export type Told =
  | { readonly result: unknown }
  | {
      readonly fault: { readonly name: string; readonly message: string; readonly stack: string | undefined };
    };

interface Waiting extends Asked {
  readonly transfer: readonly ArrayBuffer[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Whose work it is, and the memory that passes to the thread with it. */
interface Owned {
  readonly owner: string;
  readonly transfer: readonly ArrayBuffer[];
}

/** The longest that one job may take; the thread is ended then. */
const longestMs = 60_000;
/** How long the thread stays without work. */
const idleMs = 30_000;

/**
 * The thread in which large bodies are inspected and converted, so that the event loop, which all callers share, never
 * stands still for one of them. It does one job at a time, for the keys in turn, begins with the first job and ends when there
 * was none for a while. What ends it by force (no memory, too long) fails the job that ran, and no other.
 */
export class LargeWork {
  readonly #turns = new Turns<Waiting>();
  #worker: Worker | undefined;
  #running: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Settles with what the thread found; rejects where it failed by a fault of our own. */
  run<K extends keyof Jobs>(
    kind: K,
    wish: Jobs[K]['wish'],
    { owner, transfer }: Owned,
  ): Promise<Jobs[K]['result']> {
    return new Promise((resolve, reject) => {
      this.#turns.add(owner, { kind, wish, transfer, resolve: resolve as (result: unknown) => void, reject });
      this.#next();
    });
  }

  /** Ends the thread; what waits is failed. */
  async close(): Promise<void> {
    const ended = new Error('the gateway is stopping');
    for (let waiting = this.#turns.next(); waiting !== undefined; waiting = this.#turns.next())
      waiting.reject(ended);
    await this.#end(ended);
  }

  #next(): void {
    if (this.#running !== undefined) return;
    const waiting = this.#turns.next();
    if (waiting === undefined) {
      this.#limit(idleMs, new Error('there was no work'));
      return;
    }
    this.#running = waiting;
    this.#worker ??= this.#start();
    this.#limit(longestMs, new Error('work on a large body took too long'));
    const { kind, wish, transfer } = waiting;
    this.#worker.postMessage({ kind, wish } satisfies Asked, [...transfer]);
  }

  #limit(ms: number, late: Error): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#end(late), ms).unref();
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js';
    const execArgv = ['--disable-warning=ExperimentalWarning'];
    const worker = new Worker(new URL(file, import.meta.url), { execArgv });
    worker.unref();
    worker.on('message', (told: Told) => {
      const done = this.#running;
      this.#running = undefined;
      this.#next();
      if ('result' in told) done?.resolve(told.result);
      else done?.reject(Object.assign(new Error(told.fault.message), told.fault));
    });
    worker.on('error', (error) => void this.#lost(worker, error));
    worker.on('exit', () => void this.#lost(worker, new Error('the thread for large bodies ended')));
    return worker;
  }

  async #end(reason: Error): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#lost(worker, reason);
    await worker.terminate();
  }

  #lost(worker: Worker, reason: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const failed = this.#running;
    this.#running = undefined;
    failed?.reject(reason instanceof Error ? reason : new Error('the thread for large bodies failed'));
    if (!this.#turns.isEmpty) this.#next();
  }
}
