import type { Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Reads what waits in the kernel: requests on open connections, and new connections, of which each turn of the event loop
 * accepts one. Called before servers close connections: one that is closed with unread bytes is reset, and after the
 * process was busy timers run before sockets are read. Resolves after a turn of the event loop
 * without a new connection, or after `limitMs`.
 */
export async function takeWaiting(servers: readonly Server[], limitMs: number): Promise<void> {
  const until = performance.now() + limitMs;
  let hasTaken = true;
  const note = () => {
    hasTaken = true;
  };
  for (const server of servers) server.on('connection', note);
  try {
    while (hasTaken && performance.now() < until) {
      hasTaken = false;
      await nextTurn();
    }
  } finally {
    for (const server of servers) server.off('connection', note);
  }
}
