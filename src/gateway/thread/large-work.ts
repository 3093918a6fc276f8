import { createThreadMetrics } from '../../observe/thread-metrics.ts';
import { JobThread, type JobThreadOptions, type Lent } from './job-thread.ts';
import type { Jobs } from './jobs.ts';

/** Bodies and answers above this size are inspected and converted in a thread. */
export const largeBytes = 256 * 1024;
/** Above this size they have a thread of their own: one such job takes up to a second. */
const hugeBytes = 2 * 1024 * 1024;

/** The key that a job belongs to, and how much there is to read. */
interface Owned {
  readonly owner: string;
  /** Infinity if that is not known. */
  readonly bytes: number;
}

/**
 * The threads that decode, inspect and convert large bodies, because all callers share the event loop. Huge ones have a
 * thread of their own, so that those of usual prompts do not wait for them.
 */
export class LargeWork {
  readonly #large: JobThread;
  readonly #huge: JobThread;

  constructor(options: Partial<JobThreadOptions> = {}) {
    const all = { metrics: createThreadMetrics(), longestMs: 60_000, idleMs: 30_000, ...options };
    this.#large = new JobThread(all);
    this.#huge = new JobThread(all);
  }

  /**
   * Resolves with the thread's result. `begin` returns the wish when the job's turn has come, or throws if nobody waits for
   * the job any more. Rejects with what `begin` threw, or if the job failed by an error of the gateway's own.
   */
  run<K extends keyof Jobs>(
    kind: K,
    { owner, bytes }: Owned,
    begin: () => Lent<Jobs[K]['wish']>,
  ): Promise<Jobs[K]['result']> {
    return new Promise((resolve, reject) => {
      const thread = bytes > hugeBytes ? this.#huge : this.#large;
      thread.add(owner, {
        ...{ kind, begin, reject, sinceMs: performance.now() },
        resolve: resolve as (result: unknown) => void,
      });
    });
  }

  /** Terminates the threads; waiting jobs fail. */
  async close(): Promise<void> {
    await Promise.all([this.#large.close(), this.#huge.close()]);
  }
}
