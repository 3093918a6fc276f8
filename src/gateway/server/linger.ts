import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { onLastAnswer } from '../../runtime/node-internals.ts';
import { dropQueued } from './pipeline.ts';

/**
 * Destroys the connection of a caller that may still send after its answer, unless `end` closes within `lingerMs`.
 * If it were destroyed at once, the kernel would reset it because of unread bytes, and the caller would not read the
 * answer (RFC 9112 §9.6). If it were never destroyed, a caller could hold the connection indefinitely.
 */
export function endLinger(
  socket: Socket,
  lingerMs: number,
  end: { once(event: 'close', listener: () => void): unknown },
): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  end.once('close', () => clearTimeout(timer));
}

/**
 * Keeps every connection of an HTTP `server` open after an answer that closes it, until its caller has closed it too or
 * `lingerMs` have passed. node:http would destroy it, and a caller that had sent more bytes would lose the answer to a
 * reset (RFC 9112 §9.6). Bytes that arrive then are discarded: they cannot be answered, so no node may be asked.
 */
export function lingerBehindLastAnswers(server: Server, lingerMs: number): void {
  const closeInStages = (socket: Socket): void => {
    dropQueued(socket);
    socket.removeAllListeners('data');
    // node:http stops reading once another listener is there.
    socket.on('data', ignore);
    socket.resume();
    socket.end();
    endLinger(socket, lingerMs, socket);
  };
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) =>
    onLastAnswer(socket, closeInStages),
  );
}

function ignore(): void {}
