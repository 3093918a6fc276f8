import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folderDeclarations } from './cli/edit/folder-declarations.ts';
import { adminCircuits } from './cli/route/admin-circuits.ts';
import type { Address } from './config.ts';
import { isLoopback } from './console/command.ts';
import { type RunningConsole, startConsole } from './console/console.ts';
import { explainFrom, type ReadCircuits } from './console/explain.ts';
import type { Log } from './observe/log.ts';
import { explain, listenOn, version } from './process.ts';

const idleMs = 60 * 60_000;
/** In the data folder: an address that nobody has opened yet. */
const addressFile = 'console-address';

export interface StandaloneConsole {
  /** An address to open, good for one browser. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * The console of a standalone process, on the folder that it serves, beside its admin port and on the same host: loopback,
 * or it is not served. A file in the data folder, which only its owner reads, always holds an address that is still good.
 * Undefined where it is not served; the log says why.
 */
export async function serveConsole(options: {
  readonly manifests: string;
  readonly data: string;
  readonly homeNamespace: string;
  readonly adminListen: Address;
  readonly baseURL: string;
  readonly log: Log;
  readonly signal: AbortSignal;
}): Promise<StandaloneConsole | undefined> {
  const { manifests, data, homeNamespace, adminListen, baseURL, log, signal } = options;
  const { host } = adminListen;
  if (!isLoopback(host)) {
    log.info(
      { host },
      'Not serving the console: the admin address is not loopback; run `model-gateway console` instead',
    );
    return undefined;
  }
  const declarations = folderDeclarations({ manifests, data });
  const readCircuits: ReadCircuits = (asking) => adminCircuits(`http://${host}:${adminListen.port}`, asking);
  const port = adminListen.port === 0 ? 0 : adminListen.port + 1;
  const file = join(data, addressFile);
  const keepAddress = async (running: RunningConsole): Promise<void> => {
    await writeFile(file, `${running.newAddress()}\n`, { mode: 0o600 }).catch((error: unknown) => {
      log.warn({ err: error, file }, 'Could not write the address of the console');
    });
  };
  try {
    const running = await listenOn({ host, port }, true, async (onHost, onPort) => {
      const started: RunningConsole = await startConsole({
        declarations,
        namespace: undefined,
        explain: explainFrom(declarations, homeNamespace, readCircuits, signal, undefined),
        host: onHost,
        port: onPort,
        readOnly: false,
        gatewayURL: baseURL,
        version,
        idleMs,
        now: Date.now,
        randomBytes,
        signal,
        onSignIn: () => void keepAddress(started),
      });
      return started;
    });
    await keepAddress(running);
    log.info({ listen: { host, port: running.port }, addressFile: file }, 'Serving the console');
    return { address: running.newAddress(), close: running.close };
  } catch (error) {
    log.warn({ reason: explain(error) }, 'Not serving the console');
    return undefined;
  }
}
