import { createHash } from 'node:crypto';
import { Agent, type buildConnector, type Dispatcher, ProxyAgent } from 'undici';
import type { Credentials } from './credentials.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const TCP_PROBE_AFTER_MS = 15_000;
const IDLE_CONNECTION_MS = 30_000;
const HEADERS_TIMEOUT_MS = 30_000;

/**
 * One keep-alive pool for all requests, replaced when the CA, client certificate or any other TLS setting changes;
 * requests on the old pool complete. HTTP/1.1 only: each watch holds a connection of its own, and the number of connections
 * is not limited, so that watches cannot starve requests.
 */
export function shareConnections() {
  const opened = new Set<Dispatcher>();
  let newest: { agent: Dispatcher; tls: Credentials['tls']; print: string } | undefined;

  function retire(agent: Dispatcher) {
    // Not awaited: a watch may hold the old pool open for minutes.
    agent.close().then(
      () => opened.delete(agent),
      () => opened.delete(agent),
    );
  }

  return {
    /** The pool for these TLS options. */
    use(tls: Credentials['tls']): Dispatcher {
      if (newest?.tls === tls) return newest.agent;
      const print = fingerprint(tls);
      if (newest?.print !== print) {
        const agent = open(tls);
        opened.add(agent);
        if (newest !== undefined) retire(newest.agent);
        newest = { agent, tls, print };
      }
      newest.tls = tls;
      return newest.agent;
    },

    /** Closes every connection immediately. Not awaited: a connection that is being opened ends only at its time limit. */
    close() {
      newest = undefined;
      for (const agent of opened) agent.destroy().catch(() => {});
      opened.clear();
    },
  };
}

function open(tls: Credentials['tls']): Dispatcher {
  const pool = {
    allowH2: false,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // No timeout, because watches may be silent for a minute; each reader of a body has its own time limit.
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_CONNECTION_MS,
  };
  const socket = { timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: TCP_PROBE_AFTER_MS };
  switch (tls.type) {
    case 'none':
      return new Agent({ ...pool, connect: socket });
    case 'agent':
      return new Agent({ ...pool, connect: { ...tls.connect, ...socket } as buildConnector.BuildOptions });
    case 'proxy':
      return new ProxyAgent({
        ...pool,
        uri: tls.uri,
        requestTls: { ...tls.requestTls, ...socket } as ProxyAgent.Options['requestTls'],
      } as ProxyAgent.Options);
    case 'socks':
      throw new Error('kubeconfig proxy-url is a SOCKS proxy, which is not supported: use an http proxy');
  }
}

function fingerprint(tls: Credentials['tls']): string {
  return createHash('sha256').update(JSON.stringify(tls)).digest('hex');
}
