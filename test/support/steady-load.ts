import type { Caller } from './caller.ts';

/** Requests sent at a steady pace, whatever becomes of them. */
export interface SteadyLoad {
  /** Requests sent so far. */
  sent(): number;
  /** Sends no more, waits for those in flight, and answers what went wrong, one text each. */
  stop(): Promise<{ sent: number; failures: string[] }>;
}

/**
 * Sends chat requests for `model`, plain and streamed in turns, `perSecond` in all. A request has failed unless it was
 * answered 200 and complete.
 */
export function steadyLoad(caller: Caller, model: string, perSecond: number): SteadyLoad {
  const failures: string[] = [];
  const inFlight = new Set<Promise<void>>();
  let sent = 0;
  const send = async (number: number, stream: boolean): Promise<void> => {
    const began = performance.now();
    const kind = stream ? 'stream' : 'plain';
    const fail = (why: string) =>
      failures.push(`${kind} request ${number} after ${Math.round(performance.now() - began)} ms: ${why}`);
    try {
      const { status, text } = await caller.chat(model, { stream });
      if (status !== 200) fail(`HTTP ${status}: ${text.slice(0, 300)}`);
      else if (stream && !text.endsWith('data: [DONE]\n\n')) fail('the stream is cut off');
      else if (!stream) JSON.parse(text);
    } catch (error) {
      // What fetch throws says only that it failed; the cause says how.
      const { cause } = error as { cause?: unknown };
      fail(cause === undefined ? String(error) : `${error}: ${cause}`);
    }
  };
  const timer = setInterval(() => {
    sent += 1;
    const request = send(sent, sent % 2 === 0);
    inFlight.add(request);
    request.finally(() => inFlight.delete(request)).catch(() => undefined);
  }, 1_000 / perSecond);
  return {
    sent: () => sent,
    async stop() {
      clearInterval(timer);
      await Promise.all(inFlight);
      return { sent, failures };
    },
  };
}
