import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { ControlPlaneAddress } from '../support/control-plane.ts';
import { tlsText } from '../support/tls-file.ts';

/** A request of the product to the API server. */
export interface ApiCall {
  readonly method: string;
  /** With its query. */
  readonly url: string;
  readonly watch: boolean;
}

/** What happens to a request; undefined: it passes. */
export type ApiFault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly reason: string;
      readonly retryAfter?: number;
    }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'reset' }
  /** The answer is cut in the middle after so many bytes. */
  | { readonly kind: 'cut'; readonly bytes: number }
  /** Each line of a watch, or the body of another answer, is changed. */
  | { readonly kind: 'change'; readonly change: (text: string) => string };

/** A network and an API server that fail as a test says, between the product and a real API server. */
export interface ApiProxy {
  /** A kubeconfig of the admin through it. */
  readonly kubeconfig: string;
  /** Requests so far. */
  count(): number;
  /** Decides about every request from now on. */
  misbehave(rule: ((call: ApiCall) => ApiFault | undefined) | undefined): void;
  /** Cuts every open connection, watches too. */
  cut(): void;
  stop(): Promise<void>;
}

const adminSchema = z.object({
  users: z.tuple([
    z.object({ user: z.object({ 'client-certificate-data': z.base64(), 'client-key-data': z.base64() }) }),
  ]),
});

/** Starts one on loopback; it speaks to the API server as its admin. */
export async function startApiProxy(plane: ControlPlaneAddress): Promise<ApiProxy> {
  const [{ user }] = adminSchema.parse(parse(readFileSync(plane.kubeconfig, 'utf8'))).users;
  const text = (data: string) => Buffer.from(data, 'base64').toString();
  const identity = { cert: text(user['client-certificate-data']), key: text(user['client-key-data']) };
  const agent = new Agent({ ca: plane.ca, ...identity, keepAlive: true });
  let rule: Parameters<ApiProxy['misbehave']>[0];
  let count = 0;
  const open = new Set<Socket>();

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    count += 1;
    const { method = 'GET', url = '/' } = incoming;
    const fault = rule?.({ method, url, watch: /[?&]watch=(?:1|true)/.test(url) });
    response.on('error', () => {});
    if (fault?.kind === 'reset') return void incoming.socket.destroy();
    if (fault?.kind === 'status') return refuse(response, fault);
    if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.ms));
    const { host: _host, authorization: _token, 'accept-encoding': _coding, ...headers } = incoming.headers;
    const outgoing = httpsRequest(plane.url + url, { method, headers, agent }, (answer) =>
      pass(answer, response, fault),
    );
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const server = createServer(
    { key: tlsText('server1.key'), cert: tlsText('server1.crt') },
    (incoming, response) => {
      serve(incoming, response).catch(() => response.destroy());
    },
  );
  server.on('secureConnection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(plane.folder, `proxy-${port}.kubeconfig`);
  const authority = Buffer.from(tlsText('ca1.crt')).toString('base64');
  await writeFile(
    kubeconfig,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'c',
          cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': authority },
        },
      ],
      users: [{ name: 'u', user: { token: 'the-proxy-knows-better' } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    }),
  );
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    kubeconfig,
    count: () => count,
    misbehave: (next) => {
      rule = next;
    },
    cut,
    async stop() {
      server.close();
      cut();
      agent.destroy();
    },
  };
}

function refuse(
  response: ServerResponse,
  { status, reason, retryAfter }: Extract<ApiFault, { kind: 'status' }>,
): void {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason,
    code: status,
    message: `scripted ${reason}`,
  };
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  });
  response.end(JSON.stringify(body));
}

function pass(answer: IncomingMessage, response: ServerResponse, fault: ApiFault | undefined): void {
  const { 'content-length': _length, ...headers } = answer.headers;
  response.writeHead(answer.statusCode ?? 502, headers);
  response.flushHeaders();
  answer.on('error', () => response.destroy());
  if (fault?.kind === 'cut') {
    let left = fault.bytes;
    answer.on('data', (piece: Buffer) => {
      response.write(piece.subarray(0, left));
      left -= piece.length;
      if (left <= 0) setTimeout(() => response.destroy(), 20);
    });
    return;
  }
  if (fault?.kind !== 'change') return void answer.pipe(response);
  let rest = '';
  answer.setEncoding('utf8');
  answer.on('data', (piece: string) => {
    rest += piece;
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) response.write(`${fault.change(line)}\n`);
  });
  answer.on('end', () => response.end(rest === '' ? '' : fault.change(rest)));
}
