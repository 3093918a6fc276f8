import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { keyText } from './population.ts';

/** What was seen of keys that were switched off. */
export interface Refusals {
  /** From the change to the first refusal, in milliseconds. */
  readonly revocations: readonly number[];
  /** Keys that still opened after `patienceMs`. */
  readonly open: number;
}

const patienceMs = 10_000;
/** The first question comes at once; then they get rarer, as each takes from what is measured. */
const questionMs = [5, 10, 20, 40];

/**
 * Asks a gateway (base URL with `/v1`) with keys that were switched off, until each is refused. `isWatched: false`: its watch
 * does not have them, so each question is asked once, for the same work.
 */
export function askUntilRefused(gateway: string, model: string, isWatched = true) {
  const { origin, pathname } = new URL(gateway);
  const pool = new Pool(origin, { connections: 64 });
  const path = `${pathname}/models/${encodeURIComponent(model)}`;
  const revocations: number[] = [];
  const questions: Promise<void>[] = [];
  let open = 0;

  const ask = async (index: number, since: number): Promise<void> => {
    const headers = { authorization: `Bearer ${keyText(index)}` };
    for (let turn = 0; performance.now() - since < patienceMs; turn += 1) {
      const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
      await body.dump();
      if (!isWatched) return;
      if (statusCode === 401) {
        revocations.push(performance.now() - since);
        return;
      }
      await delay(questionMs[turn] ?? 50);
    }
    open += 1;
  };
  return {
    /** Key `index` was switched off at this time of `performance.now`. */
    ask(index: number, since: number): void {
      questions.push(ask(index, since));
    },
    /** Waits for all answers. @throws when the gateway could not be asked */
    async end(): Promise<Refusals> {
      try {
        await Promise.all(questions);
      } finally {
        await pool.destroy();
      }
      return { revocations, open };
    },
  };
}
