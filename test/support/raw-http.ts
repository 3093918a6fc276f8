import { connect, type Socket } from 'node:net';

/** Sends bytes to a port on loopback (`host`) and answers everything that came back until the other side closed or `quietMs` of silence. */
export async function rawExchange(
  port: number,
  send: string | Buffer | ((socket: Socket) => void | Promise<void>),
  quietMs = 3000,
  host = '127.0.0.1',
): Promise<string> {
  const socket = connect(port, host);
  socket.setTimeout(quietMs, () => socket.destroy());
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve) => socket.once('connect', resolve));
  if (typeof send === 'function') await send(socket);
  else socket.write(send);
  await closed;
  return Buffer.concat(pieces).toString('latin1');
}
