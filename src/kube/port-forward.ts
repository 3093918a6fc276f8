import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { PortForward } from '@kubernetes/client-node';
import type { SharedKubeConfig } from './kubeconfig.ts';

const longestReason = 500;

/** A port of this machine that leads to a port of a pod. */
export interface ForwardedPort {
  readonly port: number;
  /** Why the last connection failed, such as `the API server answered 403`; undefined while none failed. */
  failure(): string | undefined;
}

/**
 * Listens on a free port of 127.0.0.1 and forwards each connection to the pod through the API server, with the permissions of
 * the kubeconfig's user (`pods/portforward`), until `signal` aborts. Connections that cannot be forwarded are reset; `failure` says why.
 */
export async function forwardPort(
  config: SharedKubeConfig,
  pod: { readonly namespace: string; readonly name: string; readonly port: number },
  signal: AbortSignal,
): Promise<ForwardedPort> {
  const forward = new PortForward(config);
  const open = new Set<Socket>();
  let failure: string | undefined;

  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {});
    // The socket is read only after the other end is connected, so that no byte is lost.
    socket.pause();
    failure = undefined;
    // The kubelet's error, for example that no process listens on the pod's port; the kubelet then closes the connection.
    const refused = new Writable({
      write(words: Buffer, _encoding, done) {
        if (words.length > 0) failure = words.toString('utf8').slice(0, longestReason);
        done();
      },
    });
    forward.portForward(pod.namespace, pod.name, [pod.port], socket, refused, socket).then(
      (tunnel) => {
        if (typeof tunnel === 'function') return;
        tunnel.on('close', () => socket.end());
        tunnel.on('error', () => socket.destroy());
        socket.on('close', () => tunnel.close());
        if (socket.destroyed) tunnel.close();
        socket.resume();
      },
      (error: unknown) => {
        failure = reasonOf(error);
        socket.resetAndDestroy();
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  signal.addEventListener(
    'abort',
    () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
    { once: true },
  );
  return { port: (server.address() as AddressInfo).port, failure: () => failure };
}

/** `ws` reports `Unexpected server response: 403` in an event of its own. */
function reasonOf(error: unknown): string {
  const { message = '' } = error as { readonly message?: string };
  const status = /^Unexpected server response: (\d{3})$/.exec(message)?.[1];
  return status === undefined ? message || 'no connection' : `the API server answered ${status}`;
}
