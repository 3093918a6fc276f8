import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { closeServers, listenOnHost } from '../listen/listen-on-host.ts';
import type { DebugEndpoints } from './debug-endpoints.ts';
import { exposition } from './exposition.ts';

export interface AdminServer {
  readonly address: AddressInfo;
  close(): Promise<void>;
}

/** What the admin port serves, without authentication. */
export const adminPaths: readonly string[] = ['/livez', '/readyz', '/metrics'];

/** The query of Kubernetes' own health endpoints: `?verbose`. */
function isVerbose(url: string | undefined): boolean {
  return new URLSearchParams(url?.split('?')[1]).has('verbose');
}

/**
 * The second port: `/livez`, `/readyz` and `/metrics`, and nothing else but `debug` if that is given. `/livez` says only that the event loop runs;
 * it never asks the API server or a node, or their outage would restart every pod at once. `unready` returns why the
 * process should get no traffic, or undefined when it should.
 *
 * Throws what `listen` throws, such as EADDRINUSE.
 */
export async function startAdminServer(options: {
  host: string;
  port: number;
  registry: Registry;
  unready: () => string | undefined;
  /** Lines that `/readyz?verbose` adds: problems that do not make the process unready. */
  remarks?: () => readonly string[];
  /** Answers below `/debug/`; absent: nothing does. */
  debug?: DebugEndpoints | undefined;
}): Promise<AdminServer> {
  const answer: RequestListener = async (request, response) => {
    const path = request.url?.split('?', 1)[0];
    const reply = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    if (options.debug !== undefined && path?.startsWith('/debug/') === true) {
      const { status, body } = await options.debug(request);
      return reply(status, body);
    }
    if (path === undefined || !adminPaths.includes(path)) return reply(404, 'not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return reply(405, 'use GET\n');
    if (path === '/livez') return reply(200, 'ok\n');
    if (path === '/readyz') {
      const reason = options.unready();
      const remarks = isVerbose(request.url) ? (options.remarks?.() ?? []) : [];
      return reply(reason === undefined ? 200 : 503, `${[reason ?? 'ok', ...remarks].join('\n')}\n`);
    }
    try {
      reply(200, await exposition(options.registry), options.registry.contentType);
    } catch {
      reply(500, 'metrics could not be collected\n');
    }
  };
  const timeouts = { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 65_000 };
  const { address, servers } = await listenOnHost(options.host, options.port, () =>
    createServer(timeouts, answer),
  );
  return {
    address,
    close: () => closeServers(servers),
  };
}
