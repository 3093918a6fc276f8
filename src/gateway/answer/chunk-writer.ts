import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { chunkOf, socketForChunk } from '../../runtime/node-internals.ts';
import { type BatchedWriter, writeTogether } from '../../upstream/batches.ts';
import { type Fallible, guarded, quietly } from '../guard.ts';

/**
 * Pieces up to this size are written past node:http as one chunk. Copying larger ones costs more than it saves, and a
 * waiting copy holds the 64 KiB pool that Node.js cuts small Buffers from.
 */
const mostChunkBytes = 16 * 1024;

/** A comment of an event stream. */
export interface Comment {
  readonly bytes: Buffer;
  /** The same bytes as a chunk, made once. */
  readonly chunk: Buffer;
}

export function comment(text: string): Comment {
  const bytes = Buffer.from(text);
  return { bytes, chunk: chunkOf(bytes) };
}

/** Whose body a ChunkWriter writes. */
export interface ChunkOwner extends Fallible {
  /** The reader has read what was written. */
  drained(): void;
}

/**
 * Writes the body of one response. All that makes writing fast is here: small chunks are written past node:http, all writes
 * of one turn of the event loop are sent together, and a reader that reads nothing for too long loses its connection.
 */
export class ChunkWriter implements BatchedWriter {
  /** Bytes of the body so far. */
  bytesOut = 0;
  /** Whether the connection was broken, or the reader left: nothing more may be written. */
  isStopped = false;
  /** Whether the body is to end, and its last bytes until they are written. */
  isEnding = false;
  #lastBytes: Buffer | undefined;
  readonly #response: ServerResponse;
  readonly #idleMs: number;
  readonly #owner: ChunkOwner;
  #corked: Socket | undefined;
  /** Whether the reader once read more slowly than was written. */
  #hasWaited = false;

  /** `idleMs`: how long the reader may read nothing while bytes wait for it. */
  constructor(response: ServerResponse, idleMs: number, owner: ChunkOwner) {
    this.#response = response;
    this.#idleMs = idleMs;
    this.#owner = owner;
  }

  /** Returns false if the reader reads more slowly than is written; the owner is `drained` when it has caught up. */
  write(bytes: Buffer): boolean {
    const isFirst = this.#cork();
    const taken = this.#pass(bytes);
    if (isFirst) writeTogether(this);
    if (!taken) this.#wait();
    return taken;
  }

  /** Writes a comment, if possible at once: the stream was silent for long enough. */
  writeComment({ bytes, chunk }: Comment): void {
    // If the reader does not read, more comments would only fill memory.
    if (this.isStopped || this.#response.writableNeedDrain) return;
    const socket = this.#socketForChunk();
    if (socket === null) this.write(bytes);
    else {
      this.bytesOut += bytes.length;
      socket.write(chunk);
    }
  }

  /** Ends the body. `end` of node:http sends everything at once, so it is called when all writes are sent together. */
  end(bytes: Buffer | undefined): void {
    this.bytesOut += bytes?.length ?? 0;
    this.isEnding = true;
    this.#lastBytes = bytes;
    if (this.#corked === undefined) writeTogether(this);
  }

  writeNow(): void {
    try {
      if (this.isEnding) this.#endNow();
      this.#corked?.uncork();
      this.#corked = undefined;
    } catch (error) {
      this.failed(error);
      // After an error while writing, the answer cannot be ended correctly.
      quietly(() => this.break());
    }
  }

  failed(error: unknown): void {
    this.#owner.failed(error);
  }

  /** Breaks the connection. */
  break(): void {
    this.isStopped = true;
    this.#response.destroy();
  }

  /** Writes a piece, a small one directly to the socket if possible. Returns false if the reader reads too slowly. */
  #pass(bytes: Buffer): boolean {
    // A chunk of no bytes would end the answer.
    const isSmall = bytes.length > 0 && bytes.length <= mostChunkBytes;
    const socket = isSmall ? this.#socketForChunk() : null;
    this.bytesOut += bytes.length;
    if (socket === null) return this.#response.write(bytes);
    // No earlier bytes wait, so the socket has room.
    socket.write(chunkOf(bytes));
    return true;
  }

  /**
   * The socket, if a chunk may be written to it directly; null if not. While such a chunk waits, later pieces are written by
   * node:http, which then reports when the reader takes more.
   */
  #socketForChunk(): Socket | null {
    return this.isStopped ? null : socketForChunk(this.#response, this.bytesOut);
  }

  /** Corks the socket until all writes of this turn of the event loop are sent together. True if it was not corked. */
  #cork(): boolean {
    const { socket } = this.#response;
    if (this.#corked !== undefined || socket === null) return false;
    this.#corked = socket;
    socket.cork();
    return true;
  }

  #endNow(): void {
    const bytes = this.#lastBytes;
    this.#lastBytes = undefined;
    this.isEnding = false;
    if (this.isStopped) return;
    if (bytes === undefined) this.#response.end();
    else this.#response.end(bytes);
    if (this.#response.writableLength > 0) this.#wait();
  }

  /**
   * Starts the timeout for a reader that does not read. Its connection is then closed; otherwise its request, and a drain, would
   * wait indefinitely. The socket's own timeout is used, because it also notices if only a part of one write was read.
   */
  #wait(): void {
    const response = this.#response;
    const idleMs = this.#idleMs;
    response.socket?.setTimeout(idleMs);
    if (this.#hasWaited) return;
    this.#hasWaited = true;
    // A pipelined answer gets the socket when the earlier one is complete.
    if (response.socket === null) response.once('socket', (socket) => socket.setTimeout(idleMs));
    response.on(
      'drain',
      guarded(this, () => {
        response.socket?.setTimeout(0);
        this.#owner.drained();
      }),
    );
    // Before node:http's own listener, which sets the timeout of an idle connection.
    response.prependOnceListener('finish', () => response.socket?.setTimeout(0));
  }
}
