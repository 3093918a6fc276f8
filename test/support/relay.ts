import { connect, createServer, type Socket } from 'node:net';
import { pipeSockets } from './pipe-sockets.ts';

/** A TCP relay on loopback between some processes and one port: their network, which can fail without the server's. */
export interface Relay {
  readonly port: number;
  /** Resets every connection; new ones work. */
  cut(): void;
  stop(): Promise<void>;
}

/** Starts a relay to `port` of 127.0.0.1, on a free port or on `listen`. */
export async function startRelay(port: number, listen = 0): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    pipeSockets(near, far, open, (other) => other.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  const cut = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    port: address.port,
    cut,
    async stop() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
