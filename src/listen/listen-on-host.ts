import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Servers that listen on one port, one for each address of a host. */
export interface Listening<S extends Server> {
  /** The address of the first server. */
  readonly address: AddressInfo;
  readonly servers: readonly S[];
}

/** The addresses of `localhost`, independent of the machine's resolver (RFC 6761 §6.3). */
const loopback: readonly string[] = ['127.0.0.1', '::1'];
/** How many ports are tried to find one that is free on all addresses of a host. */
const mostPorts = 10;
/** Errors that are ignored if another address can be listened on: a machine may have no IPv6. */
const absentFamily: ReadonlySet<unknown> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/**
 * Listens on every address of `host`: `localhost` has an IPv4 and an IPv6 address, and callers use either. Each address
 * gets a server of its own from `newServer`, so that all servers are the same. With port 0 all servers use the same free port. Throws what
 * `listen` throws, such as EADDRINUSE; then no server listens.
 */
export async function listenOnHost<S extends Server>(
  host: string,
  port: number,
  newServer: () => S,
): Promise<Listening<S>> {
  const addresses = host.toLowerCase() === 'localhost' ? loopback : [host];
  for (let tried = 1; ; tried += 1) {
    const servers: S[] = [];
    try {
      return await listenOnAll(addresses, port, servers, newServer);
    } catch (error) {
      const hadFirst = servers.length > 0;
      for (const server of servers) server.close();
      // The port was free on the first address, but another program uses it on this one.
      if (codeOf(error) !== 'EADDRINUSE' || port !== 0 || !hadFirst || tried === mostPorts) throw error;
    }
  }
}

async function listenOnAll<S extends Server>(
  addresses: readonly string[],
  port: number,
  servers: S[],
  newServer: () => S,
): Promise<Listening<S>> {
  let first: AddressInfo | undefined;
  let absent: unknown;
  for (const address of addresses) {
    const server = newServer();
    server.listen(first?.port ?? port, address);
    try {
      await once(server, 'listening');
    } catch (error) {
      if (addresses.length === 1 || !absentFamily.has(codeOf(error))) throw error;
      absent = error;
      continue;
    }
    servers.push(server);
    first ??= server.address() as AddressInfo;
  }
  if (first === undefined) throw absent;
  return { address: first, servers };
}

/** Closes HTTP servers and all of their connections immediately. */
export async function closeServers(servers: readonly HttpServer[]): Promise<void> {
  const closing = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
  for (const server of servers) server.closeAllConnections();
  await Promise.all(closing);
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
