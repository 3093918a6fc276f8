import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { z } from 'zod';

const counts = z.record(z.string(), z.number());

/** What `probe.ts` answers, in bytes, milliseconds and counts. */
const answers = {
  /** Turns of the event loop of 2 ms and more since the last question, and the time since then. */
  stalls: z.object({ stalls: z.array(z.number()), milliseconds: z.number() }),
  /** After a garbage collection. */
  heap: z.object({ heapUsed: z.number(), external: z.number(), arrayBuffers: z.number() }),
  /** Live objects by class, after a garbage collection. */
  objects: counts,
  /** What keeps the event loop alive by kind, listeners of `process`, warnings that Node.js gave. */
  active: z.object({ resources: counts, listeners: z.number(), warnings: z.array(z.string()) }),
};
type Answers = { readonly [Question in keyof typeof answers]: z.infer<(typeof answers)[Question]> };

/** Asks the probe inside one process of the product. */
export interface Probe extends AsyncDisposable {
  /** To be given to the process. */
  readonly env: Readonly<Record<string, string>>;
  /** @throws when the process does not answer within 2 minutes, which counting objects takes on a busy machine */
  ask<Question extends keyof Answers>(question: Question): Promise<Answers[Question]>;
}

const answerMs = 120_000;

/** Waits on loopback for a process that is started with `env`. */
export async function startProbe(): Promise<Probe> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connected = once(server, 'connection').then(([socket]: Socket[]) => {
    if (socket === undefined) throw new Error('no connection of the probe');
    socket.on('error', () => undefined);
    return { socket, lines: createInterface({ input: socket }) };
  });
  let turn: Promise<unknown> = Promise.resolve();
  const put = async (question: string): Promise<unknown> => {
    const signal = AbortSignal.timeout(answerMs);
    const { socket, lines } = await connected;
    const answer = once(lines, 'line', { signal });
    socket.write(`${question}\n`);
    const [line] = (await answer) as [string];
    return JSON.parse(line);
  };
  return {
    env: {
      PROBE_PORT: String(port),
      NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${new URL('./probe.ts', import.meta.url).href}`,
    },
    async ask(question) {
      const answer = turn.then(() => put(question));
      turn = answer.catch(() => undefined);
      return answers[question].parse(await answer) as Answers[typeof question];
    },
    async [Symbol.asyncDispose]() {
      server.close();
      connected.then(
        ({ socket }) => socket.destroy(),
        () => undefined,
      );
      await turn;
    },
  };
}
