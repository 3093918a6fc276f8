import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { onLastAnswer } from '../../runtime/node-internals.ts';
import { dropQueued } from './pipeline.ts';

/**
 * Destroys the connection of a caller that may still send after its answer, unless `end` closes within `lingerMs`.
 * Destroying it at once would leave bytes unread, which the kernel turns into a reset, and the caller would never get to
 * read the answer (RFC 9112 §9.6); not destroying it would let any caller hold a connection for good.
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
 * Lets every connection of an HTTP `server` linger behind an answer that closes it, until its caller has closed it too or
 * for `lingerMs`. node:http would destroy it, and who had sent anything behind that request lost the answer to a reset
 * (RFC 9112 §9.6). What comes there is thrown away: it cannot be answered any more, so no node must be asked.
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
