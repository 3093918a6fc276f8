import { setTimeout as delay } from 'node:timers/promises';
import { answerText } from '../support/upstream-sending.ts';
import { ask, chatBody, chatText, type Outcome } from './ask.ts';

/** What honest callers met over some time. */
export interface HonestCount {
  readonly sent: number;
  /** Requests that no answer came for, or one that was broken off or an error; one text each. */
  readonly failed: readonly string[];
  /** What must never be, whatever happens: answers that look whole and are wrong, wrong keys that opened. */
  readonly never: readonly string[];
  /** The slowest of those that went well, in milliseconds. */
  readonly slowestMs: number;
}

/** Callers that keep asking, whatever happens, with good keys and with wrong ones. */
export interface HonestCaller {
  /** A point in time for `since`. */
  mark(): number;
  /** What was met since then; waits for the requests that began before this call. */
  since(mark: number): Promise<HonestCount>;
  /** How many good requests ended well so far. */
  good(): number;
  /** Ends when all in flight have ended. */
  stop(): Promise<void>;
}

interface Met {
  readonly began: number;
  readonly ms: number;
  readonly failed?: string;
  readonly never?: string;
}

export interface HonestOptions {
  /** With `/v1`; asked anew for each request, since a process may come back elsewhere. */
  readonly baseURL: () => string;
  readonly key: string;
  /** Keys that must not open: a disabled one, a mistyped one, one that was never issued. */
  readonly wrongKeys: readonly string[];
  readonly model: string;
  /** Pieces in each answer of the model. */
  readonly chunks: number;
  readonly callers?: number;
  readonly pauseMs?: number;
}

/** Begins to ask: plain and streamed in turns from each caller, and one in ten with a wrong key. */
export function honestCaller(options: HonestOptions): HonestCaller {
  const { model, chunks, callers = 3, pauseMs = 20 } = options;
  const met: Met[] = [];
  const wanted = answerText(chunks);
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let good = 0;
  let count = 0;

  async function one(): Promise<void> {
    count += 1;
    const wrongKey =
      count % 10 === 0 ? options.wrongKeys[(count / 10) % options.wrongKeys.length] : undefined;
    const stream = count % 2 === 1;
    const began = performance.now();
    const outcome = await ask(options.baseURL(), {
      key: wrongKey ?? options.key,
      body: chatBody(model, stream),
    });
    const failed = failureOf(outcome, stream, wanted, wrongKey !== undefined);
    if (failed === undefined) good += 1;
    met.push({ began, ms: outcome.ms, ...failed });
  }

  async function caller(): Promise<void> {
    while (!stopping.signal.aborted) {
      const request = one();
      inFlight.add(request);
      await request;
      inFlight.delete(request);
      await delay(pauseMs);
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller));
  return {
    mark: () => performance.now(),
    async since(mark) {
      await Promise.all(inFlight);
      const these = met.filter(({ began, ms }) => began + ms >= mark);
      return {
        sent: these.length,
        failed: these.flatMap(({ failed }) => failed ?? []),
        never: these.flatMap(({ never }) => never ?? []),
        slowestMs: Math.max(0, ...these.filter(({ failed, never }) => !failed && !never).map(({ ms }) => ms)),
      };
    },
    good: () => good,
    async stop() {
      stopping.abort();
      await all;
    },
  };
}

function failureOf(
  { status, text, whole, ms, broken }: Outcome,
  stream: boolean,
  wanted: string,
  wrongKey: boolean,
): { failed: string } | { never: string } | undefined {
  const what = `${wrongKey ? 'wrong key' : stream ? 'stream' : 'plain'} after ${Math.round(ms)} ms`;
  if (wrongKey) {
    // 403: a good key of the wrong kind.
    if (status === 401 || status === 403) return undefined;
    if (status === 200) return { never: `${what}: it opened` };
    return { failed: `${what}: ${status === 0 ? broken : `HTTP ${status}`}` };
  }
  if (status !== 200) {
    return { failed: `${what}: ${status === 0 ? broken : `HTTP ${status} ${text.slice(0, 120)}`}` };
  }
  if (!whole) return { failed: `${what}: broken off (${broken})` };
  const got = chatText(text, stream);
  if (got === wanted) return undefined;
  // An error in the stream is told to the caller; a text with a hole in it is not.
  if (stream && /"error":/.test(text)) return { failed: `${what}: an error in the stream` };
  return { never: `${what}: looks whole and is not: ${text.slice(-120)}` };
}
