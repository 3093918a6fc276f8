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

/** The HTTP servers of the traffic port: one for each address that is listened on, and all alike. */
export interface TrafficServers {
  /** Answers where the first listens. Throws what `listen` throws. */
  listen(host: string, port: number): Promise<AddressInfo>;
  /** Takes another certificate for connections to come. */
  setTlsPair(pair: TlsPair): void;
  /** Refuses new connections; those that stand, idle ones too, stay. */
  refuseConnections(): void;
  /** Takes in what waits in the kernel, for `limitMs` at most. */
  takeWaiting(limitMs: number): Promise<void>;
  closeIdleConnections(): void;
  closeAllConnections(): void;
  /** Refuses new connections, closes idle ones, and settles when every connection has ended. */
  close(): Promise<void>;
}

/** Makes the servers when they are to listen. `answer` gets every request that is HTTP. */
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
    // With a listener of our own the caller is asked for its body only after its key was checked.
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
    // Later than the limits on the body, which can answer in the route's own shape.
    requestTimeout: limits.headersMs + limits.bodyTotalMs + 10_000,
  };
  return tls === undefined
    ? createServer(options)
    : createTlsServer({ ...options, ...tlsServerOptions(tls, limits.handshakeMs) });
}
