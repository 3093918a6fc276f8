import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { type ConnectOptions, connectKube } from '../../../src/kube/connect.ts';
import { tlsFile, tlsText } from '../../support/tls-file.ts';

export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: unknown;
  socket: Socket;
}

export type Answer = (call: Call, response: ServerResponse) => void;

/**
 * An HTTPS server on loopback that answers as the test says: `script` first, one answer per request, then as `otherwise` says
 * (500 unless changed). It keeps every call and counts connections.
 */
export async function scriptedServer() {
  const folder = mkdtempSync(join(tmpdir(), 'kube-test-'));
  const script: Answer[] = [];
  let otherwise: Answer = (_, response) => response.writeHead(500).end();
  const calls: Call[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const pair = (n: number) => ({ key: tlsText(`server${n}.key`), cert: tlsText(`server${n}.crt`) });
  const server = createServer({
    ...pair(1),
    requestCert: true,
    rejectUnauthorized: false,
    ca: tlsText('ca1.crt'),
  });
  server.on('request', async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? '', 'https://localhost');
    const call: Call = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
      socket: request.socket,
    };
    calls.push(call);
    (script.shift() ?? otherwise)(call, response);
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = (server.address() as AddressInfo).port;
  const closers: (() => void)[] = [];

  return {
    folder,
    port,
    url: `https://127.0.0.1:${port}`,
    script,
    calls,
    connections: () => connections,
    otherwise(answer: Answer) {
      otherwise = answer;
    },
    useCertificate: (n: number) => server.setSecureContext(pair(n)),
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    /** Writes a kubeconfig whose user is `user` and returns its path. */
    kubeconfig(user: object, cluster: object = {}): string {
      const path = join(folder, 'kubeconfig');
      const config = {
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: 'team' } }],
        clusters: [
          {
            name: 'test',
            cluster: {
              server: `https://127.0.0.1:${port}`,
              'certificate-authority': tlsFile('ca1.crt'),
              ...cluster,
            },
          },
        ],
        users: [{ name: 'test', user }],
      };
      writeFileSync(path, JSON.stringify(config));
      return path;
    },
    /** A client for this server; closed with it. */
    client(options: Partial<ConnectOptions> = {}) {
      const kubeconfig = options.kubeconfig ?? this.kubeconfig({ token: 'secret-token' });
      const source = options.serviceAccountRoot === undefined ? { kubeconfig } : {};
      const client = connectKube({ userAgent: 'test/1', ...source, ...options });
      closers.push(client.close);
      return client;
    },
    async close() {
      for (const close of closers) close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type ScriptedServer = Awaited<ReturnType<typeof scriptedServer>>;

/** Answers with JSON. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
}

/** Answers with a Kubernetes Status object. */
export function failure(status: number, reason: string, headers: Record<string, string> = {}): Answer {
  return json({ kind: 'Status', code: status, reason, message: `test says ${reason}` }, status, headers);
}

/** Answers with an open watch and gives the test its far end. */
export function openWatch() {
  let resolve: (response: ServerResponse) => void = () => {};
  const opened = new Promise<ServerResponse>((done) => {
    resolve = done;
  });
  let connection: Socket | undefined;
  const answer: Answer = ({ socket }, response) => {
    connection = socket;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    resolve(response);
  };
  return {
    answer,
    opened,
    /** Whether the connection that it lay on is closed. */
    isCut: () => connection?.destroyed === true,
    async send(...events: object[]) {
      const response = await opened;
      for (const event of events) response.write(`${JSON.stringify(event)}\n`);
    },
    async end() {
      (await opened).end();
    },
    async cut(text = '') {
      const response = await opened;
      if (text !== '') await new Promise((done) => response.write(text, done));
      response.destroy();
    },
  };
}
