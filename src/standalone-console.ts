import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Address } from './config.ts';
import { isLoopback } from './console/guard.ts';
import type { ConsoleWorkerData, ConsoleWorkerMessage } from './console-worker.ts';
import type { Log } from './observe/log.ts';

const stopMs = 2_000;

export interface StandaloneConsole {
  /** An address to open, good for one browser. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * The console of a standalone process, on the folder that it serves, beside its admin port and on the same host: loopback,
 * or it is not served. It runs in a thread of its own: reading a large folder must not hold up a request.
 * Undefined where it is not served; the log says why.
 */
export async function serveConsole(
  options: Omit<ConsoleWorkerData, 'host' | 'port' | 'adminURL'> & {
    readonly adminListen: Address;
    readonly log: Log;
  },
): Promise<StandaloneConsole | undefined> {
  const { adminListen, log, ...data } = options;
  const { host, port } = adminListen;
  if (!isLoopback(host)) {
    log.info(
      { host },
      'Not serving the console: the admin address is not loopback; run `model-gateway console` instead',
    );
    return undefined;
  }
  const adminURL = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const workerData: ConsoleWorkerData = { ...data, host, port: port + 1, adminURL };
  const file = import.meta.url.endsWith('.ts') ? './console-worker.ts' : './console-worker.js';
  // It strips the types of its page itself, which Node.js still calls experimental.
  const execArgv = ['--disable-warning=ExperimentalWarning'];
  const worker = new Worker(new URL(file, import.meta.url), { workerData, execArgv });
  worker.on('error', (error) =>
    log.error({ err: error }, 'The console failed; traffic is served all the same'),
  );
  const message = await Promise.race([
    once(worker, 'message').then(([said]) => said as ConsoleWorkerMessage),
    once(worker, 'exit').then(() => undefined),
  ]);
  if (message === undefined || 'failure' in message) {
    log.warn({ reason: message?.failure }, 'Not serving the console');
    return undefined;
  }
  const { address, addressFile } = message;
  log.info({ listen: { host, port: message.port }, addressFile }, 'Serving the console');
  return {
    address,
    async close() {
      worker.postMessage('stop');
      await Promise.race([once(worker, 'exit'), setTimeout(stopMs, undefined, { ref: false })]);
      await worker.terminate();
    },
  };
}
