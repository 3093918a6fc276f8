import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const heard = z.object({
  count: z.number(),
  medianMs: z
    .number()
    .nullable()
    .transform((ms) => ms ?? Number.NaN),
  wrong: z.array(z.string()),
});
type Heard = z.infer<typeof heard>;

/** A caller who does nothing wrong, in a process of its own, so that only the gateway can make it slow. */
export interface HonestCaller extends AsyncDisposable {
  /** Waits, then answers what it has seen since the last question: answers, their median time, what was wrong. */
  during(ms: number): Promise<Heard>;
}

export async function startHonestCaller(port: number, key: string): Promise<HonestCaller> {
  const child = fork(fileURLToPath(new URL('./honest-calls.ts', import.meta.url)), [String(port)], {
    env: { PATH: process.env['PATH'], KEY: key },
    execArgv: [],
  });
  await once(child, 'message');
  return {
    async during(ms) {
      await delay(ms);
      const answer = once(child, 'message', { signal: AbortSignal.timeout(30_000) });
      child.send('tell');
      const [message] = (await answer) as unknown[];
      return heard.parse(message);
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      child.kill();
    },
  };
}
