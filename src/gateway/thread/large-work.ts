import { Worker } from 'node:worker_threads';
import { Turns } from '../../upstream/turns.ts';
import type { Jobs } from './jobs.ts';

/** Bodies and answers above this size are inspected and converted in the thread. */
export const largeBytes = 256 * 1024;

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

interface Waiting extends Asked {
  readonly transfer: readonly ArrayBuffer[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The key that the job belongs to, and the memory that is transferred with it. */
interface Owned {
  readonly owner: string;
  readonly transfer: readonly ArrayBuffer[];
}

/** Longest time for one job; then the thread is terminated. */
const longestMs = 60_000;
/** After this time without work the thread is terminated. */
const idleMs = 30_000;

/**
 * The thread that decodes, inspects and converts large bodies, because all callers share the event loop. It does one job at
 * a time, for the keys in turn. It starts with the first job and is terminated after a while without one. If it ends because
 * of too little memory or too long a job, that job fails, and no other.
 */
export class LargeWork {
  readonly #turns = new Turns<Waiting>();
  #worker: Worker | undefined;
  #running: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Resolves with the thread's result; rejects if the job failed by an error of the gateway's own. */
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

  /** Terminates the thread; waiting jobs fail. */
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
