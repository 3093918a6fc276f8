import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { folderDeclarations } from '../cli/edit/folder-declarations.ts';
import { adminCircuits } from '../cli/route/admin-circuits.ts';
import type { ConsoleFailure } from '../console/answer-error.ts';
import { type RunningConsole, startConsole } from '../console/console.ts';
import { explainFrom } from '../console/explain.ts';
import { productVersion } from '../observe/version.ts';
import { explain } from './process.ts';

/** What the thread of the console is given. */
export interface ConsoleWorkerData {
  readonly manifests: string;
  readonly data: string;
  readonly homeNamespace: string;
  readonly baseURL: string;
  /** The file of its certificate, where it is the process's own; undefined for one that the system trusts. */
  readonly gatewayCA: string | undefined;
  /** The loopback address that browsers use; the thread listens on another port behind it. */
  readonly host: string;
  readonly frontPort: number;
  readonly adminURL: string;
  /** Tokens of the addresses that were handed out. */
  readonly tokens: readonly string[];
  /** In the data folder, for its owner alone: an address that nobody has opened yet. */
  readonly addressFile: string;
}

/**
 * What it says: once where it listens, or why it does not; then what failed for a reason that nobody expected, and that a
 * browser opened an address.
 */
export type ConsoleWorkerMessage =
  | { readonly port: number }
  | { readonly failure: string }
  | { readonly failed: ConsoleFailure }
  | { readonly opened: true };

const idleMs = 60 * 60_000;

const given = workerData as ConsoleWorkerData;
const stop = new AbortController();
const say = (message: ConsoleWorkerMessage): void => parentPort?.postMessage(message);

try {
  const running = await start();
  say({ port: running.port });
  parentPort?.once('message', () => {
    stop.abort();
    void running.close().finally(() => process.exit(0));
  });
} catch (error) {
  say({ failure: explain(error) });
}

async function start(): Promise<RunningConsole> {
  const { manifests, data, homeNamespace, adminURL, host, frontPort, tokens, baseURL, gatewayCA } = given;
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
    host,
    port: 0,
    frontPort,
    tokens,
    readOnly: false,
    gatewayURL: baseURL,
    gatewayCA,
    version: productVersion(),
    idleMs,
    now: Date.now,
    randomBytes,
    signal: stop.signal,
    onFailure: (failed) => say({ failed }),
    onSignIn: () => void keepAddress(started),
  });
  return started;
}

async function keepAddress(running: RunningConsole): Promise<void> {
  // Without the file a restart prints an address.
  await writeFile(given.addressFile, `${running.newAddress()}\n`, { mode: 0o600 }).catch(() => {});
  say({ opened: true });
}
