import type { Socket } from 'node:net';

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
