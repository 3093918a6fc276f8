import { isDeepStrictEqual } from 'node:util';
import type { StandaloneOptions } from '../support/standalone.ts';
import type { ClusterServed } from './cluster-served.ts';
import type { Served } from './served.ts';

/** What one fault works with, and tells what it saw. */
export interface Scene {
  /** The gateway that all faults share whose process is not harmed. */
  shared(): Promise<Served>;
  /** A gateway for this fault alone, which ends with it. */
  own(options?: StandaloneOptions): Promise<Served>;
  /** Controller and gateway on a real API server; shared by all faults of it. */
  cluster(): Promise<ClusterServed>;
  /** The same for this fault alone, about 10 s; it ends with it. */
  ownCluster(): Promise<ClusterServed>;
  /** Says what was seen, for the table. */
  saw(text: string): void;
  /** What is not as promised goes into the table, and the fault goes on. */
  same(what: string, seen: unknown, promised: unknown): void;
  must(what: string, holds: boolean): void;
  /** Times how long it takes until a condition holds; longer than `limitMs` (default 30 s) is not as promised. */
  recovers(what: string, condition: () => Promise<boolean> | boolean, limitMs?: number): Promise<void>;
  /** Undoes something at the end, last things first, whatever happens. */
  onEnd(undo: () => Promise<unknown> | unknown): void;
  readonly long: boolean;
}

/** What was told to a scene so far. */
export interface Told {
  readonly saw: string[];
  readonly differs: string[];
  recoveredMs: number | undefined;
}

/** The part of a scene that only notes. */
export function notes(told: Told): Pick<Scene, 'saw' | 'same' | 'must' | 'recovers'> {
  return {
    saw: (text) => void told.saw.push(text),
    same(what, seen, promised) {
      if (!isDeepStrictEqual(seen, promised)) {
        told.differs.push(`${what}: ${JSON.stringify(seen)}, not ${JSON.stringify(promised)}`);
      }
    },
    must(what, holds) {
      if (!holds) told.differs.push(`not so: ${what}`);
    },
    async recovers(what, condition, limitMs = 30_000) {
      const began = performance.now();
      while (!(await condition())) {
        if (performance.now() - began > limitMs) {
          told.differs.push(`not within ${limitMs / 1000} s: ${what}`);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      told.recoveredMs = Math.max(told.recoveredMs ?? 0, performance.now() - began);
    },
  };
}
