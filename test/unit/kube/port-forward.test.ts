import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { SharedKubeConfig } from '../../../src/kube/kubeconfig.ts';
import { forwardPort } from '../../../src/kube/port-forward.ts';
import { connected, forwardByChannels } from '../../support/kubelet/port-forward-server.ts';

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const step of cleanup.splice(0)) step();
});

/** An API server that forwards to `port`, in the frames of `v4.channel.k8s.io`: data is channel 0, errors channel 1. */
async function apiServer(port: number, asked: IncomingMessage[]): Promise<SharedKubeConfig> {
  const server = createServer((_request, response) => response.writeHead(404).end());
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    asked.push(request);
    if (request.headers.authorization !== 'Bearer good') {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    void forwardByChannels(request, socket, String(port), () => connected('127.0.0.1', port));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.push(() => server.close());
  const config = new SharedKubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'test',
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      skipTLSVerify: true,
    },
    { name: 'test', token: 'good' },
  );
  return config;
}

/** A pod that answers each line in capitals and closes after `bye`. */
async function pod(): Promise<number> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (data: Buffer) => {
      text += data;
    });
    request.on('end', () => response.end(text.toUpperCase()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('requests and answers pass, connection by connection, to the port of the pod that was asked for', async () => {
  const port = await pod();
  const asked: IncomingMessage[] = [];
  const stop = new AbortController();
  const config = await apiServer(port, asked);
  const forwarded = await forwardPort(config, { namespace: 'home', name: 'gateway-0', port }, stop.signal);
  const text = 'a long request '.repeat(2_000);
  for (const body of ['short', text]) {
    const answer = await fetch(`http://127.0.0.1:${forwarded.port}/`, {
      method: 'POST',
      body,
      headers: { connection: 'close' },
    });
    expect(await answer.text()).toBe(body.toUpperCase());
  }
  expect(asked.map(({ url }) => url)).toEqual(
    Array(2).fill(`/api/v1/namespaces/home/pods/gateway-0/portforward?ports=${port}`),
  );
  expect(forwarded.failure()).toBeUndefined();
  stop.abort();
  await expect(fetch(`http://127.0.0.1:${forwarded.port}/`)).rejects.toThrow();
});

test('what the API server refuses is reset, and the reason is kept', async () => {
  const stop = new AbortController();
  cleanup.push(() => stop.abort());
  const config = await apiServer(await pod(), []);
  config.loadFromClusterAndUser(config.getCurrentCluster() ?? { name: '', server: '', skipTLSVerify: true }, {
    name: 'test',
    token: 'bad',
  });
  const forwarded = await forwardPort(config, { namespace: 'home', name: 'gateway-0', port: 1 }, stop.signal);
  const socket: Socket = connect(forwarded.port, '127.0.0.1');
  await new Promise((resolve) => socket.on('error', resolve).on('close', resolve));
  await expect.poll(() => forwarded.failure()).toBe('the API server answered 403');
});

test('a pod that does not listen: the connection ends, and what the kubelet said is kept', async () => {
  const stop = new AbortController();
  cleanup.push(() => stop.abort());
  const forwarded = await forwardPort(
    await apiServer(1, []),
    { namespace: 'home', name: 'gateway-0', port: 1 },
    stop.signal,
  );
  await expect(fetch(`http://127.0.0.1:${forwarded.port}/`)).rejects.toThrow();
  await expect.poll(() => forwarded.failure()).toMatch(/error forwarding port 1 to pod.*ECONNREFUSED/);
});
