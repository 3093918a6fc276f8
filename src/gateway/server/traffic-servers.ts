import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { listenOnHost } from '../../listen/listen-on-host.ts';
import { stopListening } from '../../runtime/node-internals.ts';
import { secureOptions, type TlsPair, tlsServerOptions } from '../../tls/tls-pair.ts';
import type { GatewayContext } from '../handle.ts';
import { clientErrorAnswers } from './client-error.ts';
import { lingerBehindLastAnswers } from './linger.ts';
import { takeWaiting } from './take-waiting.ts';
import { refuseUnrouted, unrouted } from './unrouted.ts';

/** The HTTP servers of the traffic port: one for each address, all made by one function. */
export interface TrafficServers {
  /** Returns the address of the first. Throws what `listen` throws. */
  listen(host: string, port: number): Promise<AddressInfo>;
  /** Sets the certificate for new connections. */
  setTlsPair(pair: TlsPair): void;
  /** Refuses new connections; open ones stay, idle ones too. */
  refuseConnections(): void;
  /** Reads what waits in the kernel, for `limitMs` at most. */
  takeWaiting(limitMs: number): Promise<void>;
  closeIdleConnections(): void;
  closeAllConnections(): void;
  /** Refuses new connections, closes idle ones, and settles when every connection has ended. */
  close(): Promise<void>;
}

/** Makes the servers when `listen` is called. `answer` gets every request that node:http parsed. */
export function createTrafficServers(
  context: GatewayContext,
  tls: TlsPair | undefined,
  answer: RequestListener,
): TrafficServers {
  let pair = tls;
  let servers: readonly Server[] = [];
  const newServer = (): Server => {
    const server = bareServer(context, pair);
    server.on('request', answer);
    server.on('clientError', clientErrorAnswers(context.requestId, context.limits.lingerMs));
    lingerBehindLastAnswers(server, context.limits.lingerMs);
    // Without this listener node:http would ask for the body before the key was checked.
    server.on('checkContinue', answer);
    server.on('checkExpectation', (request, response) => {
      refuseUnrouted(context, request, response, unrouted.expectation());
    });
    return server;
  };
  return {
    async listen(host, port) {
      const listening = await listenOnHost(host, port, newServer);
      servers = listening.servers;
      return listening.address;
    },
    setTlsPair(next) {
      pair = next;
      for (const server of servers) {
        if (server instanceof TlsServer) server.setSecureContext(secureOptions(next));
      }
    },
    refuseConnections() {
      for (const server of servers) stopListening(server);
    },
    takeWaiting: (limitMs) => takeWaiting(servers, limitMs),
    closeIdleConnections: () => {
      for (const server of servers) server.closeIdleConnections();
    },
    closeAllConnections: () => {
      for (const server of servers) server.closeAllConnections();
    },
    async close() {
      await Promise.all(
        servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
      );
    },
  };
}

function bareServer({ limits }: GatewayContext, tls: TlsPair | undefined): Server {
  const options = {
    headersTimeout: limits.headersMs,
    maxHeaderSize: limits.headerBytes,
    connectionsCheckingInterval: Math.min(limits.headersMs, 5_000),
    requireHostHeader: false,
    keepAliveTimeout: limits.idleConnectionMs,
    // Later than the limits on the body: those answer in the shape of the route.
    requestTimeout: limits.headersMs + limits.bodyTotalMs + 10_000,
  };
  return tls === undefined
    ? createServer(options)
    : createTlsServer({ ...options, ...tlsServerOptions(tls, limits.handshakeMs) });
}
