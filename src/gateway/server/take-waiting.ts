import type { Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Takes in what waits in the kernel: requests on open connections, and connections, of which each turn of the event loop
 * accepts one. Before servers close anything: what it closes unread is reset, and timers come before what has arrived
 * while the process was busy. Settles when a turn brought no connection, after `limitMs` at the latest.
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
