import { Worker } from 'node:worker_threads';
import type { ThreadMetrics } from '../../observe/thread-metrics.ts';
import { Turns } from '../../upstream/turns.ts';
import type { Jobs } from './jobs.ts';

/** A job for the thread; it gets one at a time. */
export interface Asked {
  readonly kind: keyof Jobs;
  readonly wish: unknown;
}

/** The thread's answer. */
export type Told =
  | { readonly result: unknown }
  | {
      readonly fault: { readonly name: string; readonly message: string; readonly stack: string | undefined };
    };

/** What the thread gets, and the memory that is transferred with it. */
export interface Lent<W> {
  readonly wish: W;
  readonly transfer: readonly ArrayBuffer[];
}

/** A job that waits for its turn. */
export interface Waiting {
  readonly kind: keyof Jobs;
  /** Called when its turn has come. If it throws, the job is not done. */
  readonly begin: () => Lent<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** When it was added, by `performance.now()`. */
  readonly sinceMs: number;
}

export interface JobThreadOptions {
  readonly metrics: ThreadMetrics;
  /** Longest time for one job; then the thread is terminated. */
  readonly longestMs: number;
  /** After this time without work the thread is terminated. */
  readonly idleMs: number;
}

/**
 * A thread that does one job at a time, for the keys in turn. It starts with the first job and is terminated after a while
 * without one. If it ends because of too little memory or too long a job, that job fails, and no other.
 */
export class JobThread {
  readonly #options: JobThreadOptions;
  readonly #turns = new Turns<Waiting>();
  #worker: Worker | undefined;
  #running: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: JobThreadOptions) {
    this.#options = options;
  }

  add(owner: string, waiting: Waiting): void {
    this.#turns.add(owner, waiting);
    this.#next();
  }

  /** Terminates the thread; its jobs fail. */
  async close(): Promise<void> {
    const ended = new Error('the gateway is stopping');
    for (let waiting = this.#turns.next(); waiting !== undefined; waiting = this.#turns.next())
      waiting.reject(ended);
    await this.#end(ended);
  }

  #next(): void {
    while (this.#running === undefined) {
      const waiting = this.#turns.next();
      if (waiting === undefined) {
        this.#limit(this.#options.idleMs, () => void this.#end(undefined));
        return;
      }
      this.#begin(waiting);
    }
  }

  #begin(waiting: Waiting): void {
    const { metrics, longestMs } = this.#options;
    metrics.began(waiting.kind, performance.now() - waiting.sinceMs);
    try {
      const { wish, transfer } = waiting.begin();
      this.#worker ??= this.#start();
      this.#worker.postMessage({ kind: waiting.kind, wish } satisfies Asked, [...transfer]);
    } catch (error) {
      waiting.reject(error);
      return;
    }
    this.#running = waiting;
    this.#limit(longestMs, () => void this.#end(new Error('work on a large body took too long')));
  }

  #limit(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, ms).unref();
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js';
    const execArgv = ['--disable-warning=ExperimentalWarning'];
    const worker = new Worker(new URL(file, import.meta.url), { execArgv });
    worker.unref();
    worker.on('message', (told: Told) => {
      if (this.#worker !== worker) return;
      const done = this.#running;
      this.#running = undefined;
      this.#next();
      if ('result' in told) done?.resolve(told.result);
      else done?.reject(Object.assign(new Error(told.fault.message), told.fault));
    });
    worker.on('error', (error) => this.#lost(worker, error));
    worker.on('exit', () => this.#lost(worker, new Error('the thread for large bodies ended')));
    return worker;
  }

  /** Terminates the thread; the job that it does fails for this reason. */
  async #end(reason: Error | undefined): Promise<void> {
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
    if (failed !== undefined) {
      this.#options.metrics.lost();
      failed.reject(reason);
    }
    this.#next();
  }
}
