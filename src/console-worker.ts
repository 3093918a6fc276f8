import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { folderDeclarations } from './cli/edit/folder-declarations.ts';
import { adminCircuits } from './cli/route/admin-circuits.ts';
import { type RunningConsole, startConsole } from './console/console.ts';
import { explainFrom } from './console/explain.ts';
import { productVersion } from './observe/version.ts';
import { explain, listenOn } from './process.ts';

/** What the thread of the console is given. */
export interface ConsoleWorkerData {
  readonly manifests: string;
  readonly data: string;
  readonly homeNamespace: string;
  readonly baseURL: string;
  readonly host: string;
  /** Another one is taken where it is busy. */
  readonly port: number;
  readonly adminURL: string;
}

/** What it says, once: that it serves, or why it does not. */
export type ConsoleWorkerMessage =
  | { readonly port: number; readonly address: string; readonly addressFile: string }
  | { readonly failure: string };

const idleMs = 60 * 60_000;

const { manifests, data, homeNamespace, baseURL, host, port, adminURL } = workerData as ConsoleWorkerData;
/** In the data folder, for its owner alone: an address that nobody has opened yet. */
const addressFile = join(data, 'console-address');
const stop = new AbortController();
const say = (message: ConsoleWorkerMessage): void => parentPort?.postMessage(message);

try {
  const running = await listenOn({ host, port }, true, start);
  await keepAddress(running);
  say({ port: running.port, address: running.newAddress(), addressFile });
  parentPort?.once('message', () => {
    stop.abort();
    void running.close().finally(() => process.exit(0));
  });
} catch (error) {
  say({ failure: explain(error) });
}

async function start(onHost: string, onPort: number): Promise<RunningConsole> {
  const declarations = folderDeclarations({ manifests, data });
  const started: RunningConsole = await startConsole({
    declarations,
    namespace: undefined,
    explain: explainFrom(
      declarations,
      homeNamespace,
      (asking) => adminCircuits(adminURL, asking),
      stop.signal,
      undefined,
    ),
    host: onHost,
    port: onPort,
    readOnly: false,
    gatewayURL: baseURL,
    version: productVersion(),
    idleMs,
    now: Date.now,
    randomBytes,
    signal: stop.signal,
    onSignIn: () => void keepAddress(started),
  });
  return started;
}

async function keepAddress(running: RunningConsole): Promise<void> {
  // Without the file an address can be had by starting anew.
  await writeFile(addressFile, `${running.newAddress()}\n`, { mode: 0o600 }).catch(() => {});
}
