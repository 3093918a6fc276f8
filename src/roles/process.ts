import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { type Address, ConfigError } from '../config.ts';
import { errorCode, errorText } from '../observe/error-text.ts';
import type { Log } from '../observe/log.ts';
import { productVersion } from '../observe/version.ts';

/** The version of this product. */
export const version = productVersion();

/** Aborts at the first SIGTERM or SIGINT; a second one ends the process at once. */
export function stopOnSignals(log: Log): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(name === 'SIGINT' ? 130 : 143);
      log.info({ signal: name }, 'Stopping; a second signal ends it at once');
      stop.abort();
    });
  }
  return stop.signal;
}

/** Settles when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Listens on an address. If its port is taken and `mayMove` is true, the next nine ports are tried, then any free one. On a
 * machine without IPv6, `::` means every IPv4 interface. Throws ConfigError if it cannot listen.
 */
export async function listenOn<T>(
  address: Address,
  mayMove: boolean,
  listen: (host: string, port: number) => Promise<T>,
): Promise<T> {
  const ports = mayMove ? [...Array.from({ length: 10 }, (_, i) => address.port + i), 0] : [address.port];
  let { host } = address;
  for (let tried = 0; ; ) {
    const port = ports[tried] ?? 0;
    try {
      return await listen(host, port);
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === 'EADDRINUSE' && tried + 1 < ports.length) tried += 1;
      else if (code === 'EAFNOSUPPORT' && host === '::') host = '0.0.0.0';
      else throw new ConfigError(`Cannot listen on ${host}:${port}: ${explain(error)}`);
    }
  }
}

/** The address that a server listens on, as flags and logs write one. */
export function listenedOn({ address, port }: AddressInfo): Address {
  return { host: address, port };
}

const remedies: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    EADDRINUSE:
      'another program listens there; choose another address with --listen or --admin-listen, or stop that program.',
    EEXIST: 'this is a file, and a folder is needed; move the file away, or choose another folder.',
    ENOTDIR: 'this is a file, and a folder is needed; move the file away, or choose another folder.',
    EAFNOSUPPORT: 'this machine does not support that family of addresses; use 127.0.0.1 or 0.0.0.0.',
    EADDRNOTAVAIL: 'this machine has no such address; use 127.0.0.1, or an address of this machine.',
    EROFS: 'the file system is read-only; choose another folder with --manifests or --data.',
    ENOSPC: 'the disk is full; free some space.',
  }),
);

/** What to do about a system error. `isPath`: it is about a file or folder, and not about an address. */
function remedyFor(code: string, isPath: boolean): string | undefined {
  if (code !== 'EACCES') return remedies.get(code);
  return isPath
    ? 'this user has no permission; choose folders that it may write to with --manifests and --data.'
    : 'this user has no permission; use a port above 1023.';
}

/** An error for people, on one line: what failed, and for system errors what to do about it. */
export function explain(error: unknown): string {
  const [text, code] = [errorText(error), errorCode(error)];
  const isPath = error instanceof Error && 'path' in error;
  const remedy = code === undefined ? undefined : remedyFor(code, isPath);
  return remedy === undefined ? text : `${text}: ${remedy}`;
}
