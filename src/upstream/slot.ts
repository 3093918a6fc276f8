import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Connect } from './connect.ts';

/** Longest response head, and longest trailers, in bytes. */
const maxHeaderSize = 64 * 1024;
/** How long an unused connection is kept, unless the node's `Keep-Alive` header says otherwise. */
const keepAliveMs = 30_000;

/** Who uses a connection: it is ended when its time is over. */
export interface Timed {
  /** Of `performance.now()`. */
  readonly deadlineMs: number;
  totalTimeout(): void;
}

/**
 * A place for one connection, used by one request at a time: an undici Client that says whether its socket
 * has served a request before, and whose connecting can be broken off.
 */
export class Slot {
  readonly client: Client;
  /** Requests that the present socket has answered in full. */
  served = 0;
  /** Whose answer is under way. */
  exchange: Timed | undefined;
  #socket: Socket | undefined;

  /** `onDisconnect` is called when a socket that stood has closed. */
  constructor(origin: string, connect: Connect, onDisconnect: (slot: Slot) => void) {
    this.client = new Client(origin, {
      pipelining: 1,
      allowH2: false,
      useMilo: false,
      maxHeaderSize,
      keepAliveTimeout: keepAliveMs,
      connect: (_options, callback) => {
        this.#socket = connect((error, socket) => {
          this.served = 0;
          if (socket === undefined) callback(error ?? new Error('no socket'), null);
          else callback(null, socket);
        });
      },
    });
    this.client.on('disconnect', () => onDisconnect(this));
  }

  /** False once the socket has begun to close: the next request would only wait for its end. */
  get usable(): boolean {
    return this.#socket?.destroyed !== true;
  }

  /** Whether the system has all that was written to the socket, so that nobody here reads its memory any more. */
  get flushed(): boolean {
    return this.#socket?.destroyed === false && this.#socket.writableLength === 0;
  }

  /** Ends the socket at once, in whatever state it is. */
  destroy(done: () => void): void {
    // undici lets a connect in progress run on to its timeout.
    this.#socket?.destroy();
    this.client.destroy(null, done);
  }
}
