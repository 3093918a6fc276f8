import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Address } from '../config.ts';
import { isLoopback } from '../console/guard.ts';
import { newSecret } from '../console/sessions.ts';
import type { Log } from '../observe/log.ts';
import type { ConsoleWorkerData, ConsoleWorkerMessage } from './console-worker.ts';
import { explain, listenOn } from './process.ts';

const stopMs = 2_000;
const mostConnections = 200;

export interface StandaloneConsole {
  /** An address to open, good for one browser. */
  readonly address: string;
  close(): Promise<void>;
}

/** Prints the address on a terminal alone: it lets its first reader in, and what is no terminal may be a log for many. */
export function announceConsole(
  address: string | undefined,
  terminal: { readonly isTTY?: boolean; write(text: string): unknown },
): void {
  if (address === undefined || terminal.isTTY !== true) return;
  terminal.write(`Console: ${address} (good for one browser; the log names the file with the next)\n`);
}

type Given = Pick<ConsoleWorkerData, 'manifests' | 'data' | 'homeNamespace' | 'baseURL' | 'gatewayCA'>;

/**
 * The console of a standalone process, for the folder that it serves. It listens on the host of the admin port, and only if
 * that is loopback. It runs in its own thread, because reading a large folder must not delay a request. The thread starts
 * with the first browser, so that until then the console costs a port and no memory. A file in the data folder always
 * holds an address that nobody has opened. Returns undefined if the console is not served; the log says why.
 */
export async function serveConsole(
  options: Given & { readonly adminListen: Address; readonly log: Log },
): Promise<StandaloneConsole | undefined> {
  const { adminListen, log, ...given } = options;
  const { host } = adminListen;
  if (!isLoopback(host)) {
    log.info(
      { host },
      'Not serving the console: the admin address is not loopback; run `model-gateway console` instead',
    );
    return undefined;
  }
  const name = host.includes(':') ? `[${host}]` : host;
  const tokens = [newSecret(randomBytes), newSecret(randomBytes)];
  const addressFile = join(given.data, 'console-address');
  let worker: Promise<ConsoleThread> | undefined;
  const front = createServer((socket) => {
    // A browser may leave while the thread begins.
    socket.on('error', () => socket.destroy());
    worker ??= startThread(
      {
        ...given,
        host,
        frontPort: portOf(front),
        adminURL: `http://${name}:${adminListen.port}`,
        tokens,
        addressFile,
      },
      log,
    );
    worker.then(
      ({ port }) => joined(socket, connect(port, host)),
      () => socket.destroy(),
    );
  });
  front.maxConnections = mostConnections;
  try {
    await listenOn({ host, port: adminListen.port + 1 }, true, (onHost, port) =>
      listening(front, onHost, port),
    );
    const addressOf = (token: string | undefined): string =>
      `http://${name}:${portOf(front)}/?token=${token}`;
    await writeFile(addressFile, `${addressOf(tokens[1])}\n`, { mode: 0o600 });
    log.info({ listen: { host, port: portOf(front) }, addressFile }, 'Serving the console');
    return {
      address: addressOf(tokens[0]),
      async close() {
        front.close();
        await (await worker?.catch(() => undefined))?.stop();
      },
    };
  } catch (error) {
    front.close();
    log.warn({ reason: explain(error) }, 'Not serving the console');
    return undefined;
  }
}

/** The thread that answers, listening on a port of its own. */
interface ConsoleThread {
  readonly port: number;
  stop(): Promise<void>;
}

async function startThread(workerData: ConsoleWorkerData, log: Log): Promise<ConsoleThread> {
  const file = import.meta.url.endsWith('.ts') ? './console-worker.ts' : './console-worker.js';
  // It strips the types of its page itself, which Node.js still calls experimental.
  const execArgv = ['--disable-warning=ExperimentalWarning'];
  const worker = new Worker(new URL(file, import.meta.url), { workerData, execArgv });
  worker.on('error', (error) =>
    log.error({ err: error }, 'The console failed; traffic is served all the same'),
  );
  worker.on('message', (said: ConsoleWorkerMessage) => {
    if ('failed' in said) log.error(said.failed, 'A request of the console failed unexpectedly');
    const { addressFile } = workerData;
    if ('opened' in said)
      log.info({ addressFile }, 'A browser opened the console; the file holds the next address');
  });
  const message = await Promise.race([
    once(worker, 'message').then(([said]) => said as ConsoleWorkerMessage),
    once(worker, 'exit').then(() => undefined),
  ]);
  if (message === undefined || !('port' in message)) {
    const reason = message !== undefined && 'failure' in message ? message.failure : undefined;
    log.warn({ reason }, 'Not serving the console');
    throw new Error('the console could not be started');
  }
  return {
    port: message.port,
    async stop() {
      worker.postMessage('stop');
      await Promise.race([once(worker, 'exit'), setTimeout(stopMs, undefined, { ref: false })]);
      await worker.terminate();
    },
  };
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  // Rejects with what `listen` says instead, such as EADDRINUSE.
  await once(server, 'listening');
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Joins the browser's connection and the thread's; the end of one ends the other. */
function joined(outer: Socket, inner: Socket): void {
  outer.pipe(inner).pipe(outer);
  for (const [one, other] of [
    [outer, inner],
    [inner, outer],
  ] as const) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}
