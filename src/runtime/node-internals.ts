import type { ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// Everything here relies on behaviour that Node.js and V8 do not promise. Each function says what it gains and what
// fails without it; test/unit/runtime/node-internals.test.ts fails if a new version of Node.js behaves differently.
// How the gains were measured: test/bench/README.md.

/**
 * The response that may write to a connection at the moment: node:http keeps it on the socket (`_httpMessage`).
 * Without it, an error of the parser behind pipelined requests would be answered out of turn (RFC 9112 §9.3.2).
 */
export function currentResponse(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/**
 * The connection below a TLS socket, until the end of the event `tlsClientError` (`_parent`). Without it, a caller that
 * speaks plain HTTP to a port of TLS would see the connection close without a word.
 */
export function connectionBelowTls(socket: Socket): Socket | undefined {
  return (socket as { _parent?: Socket | null })._parent ?? undefined;
}

/**
 * Replaces what node:http does with a connection after an answer that closes it (`destroySoon`). Without it, a caller
 * that had sent anything more lost its answer to a reset: 11 of 578 such callers.
 */
export function onLastAnswer(socket: Socket, act: (socket: Socket) => void): void {
  socket.destroySoon = () => act(socket);
}

/**
 * Stops listening and keeps every connection, as a plain net.Server does. `close` of an HTTP server also ends idle
 * connections, on which a request may be on its way at this moment.
 */
export function stopListening(server: Server): void {
  Server.prototype.close.call(server);
}

/**
 * The socket that a chunk of a response may be written to directly, or null if it may not be: the head was not sent
 * (`bytesOut` is 0), something waits, the answer has no chunks or was ended. node:http writes each chunk as four pieces.
 * Gain: chunks a second 14 to 22 %; keep-alives of 8,000 open streams 3.1 to 2.6 % of a core.
 */
export function socketForChunk(response: ServerResponse, bytesOut: number): Socket | null {
  if (bytesOut === 0) return null;
  const { socket, chunkedEncoding, writableLength, writableEnded } = response;
  return chunkedEncoding && writableLength === 0 && !writableEnded ? socket : null;
}

const carriageReturn = 0x0d;
const lineFeed = 0x0a;

/** Bytes, at least one, as a chunk of HTTP/1.1 (RFC 9112 §7.1), for `socketForChunk`. */
export function chunkOf(bytes: Buffer): Buffer {
  const size = bytes.length.toString(16);
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + 4);
  // Byte by byte: a call into C++ for two of them takes as long as the rest.
  let at = 0;
  for (; at < size.length; at++) chunk[at] = size.charCodeAt(at);
  chunk[at++] = carriageReturn;
  chunk[at++] = lineFeed;
  chunk.set(bytes, at);
  at += bytes.length;
  chunk[at++] = carriageReturn;
  chunk[at] = lineFeed;
  return chunk;
}

/** Smaller ones cost less until they are collected than a call here. */
const leastFreedBytes = 12 * 1024;

/**
 * Gives the memory of a Buffer back at once (`ArrayBuffer.transfer`). Nothing may read it afterwards: neither JavaScript,
 * which finds it empty, nor a write to a socket that is under way, which would send what other requests put there. Does
 * nothing to a part of a larger memory. Without it, V8 marks its whole heap for each 64 MB of such memory.
 * Gain: 10 to 20 % of requests a second at 20 KB; twice the requests of 400 KB with 100,000 keys loaded.
 */
export function freeBuffer(buffer: Uint8Array): void {
  const memory = buffer.buffer;
  if (buffer.length < leastFreedBytes || memory.byteLength !== buffer.length) return;
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}

/** What V8's own `gc` takes. */
interface Collection {
  readonly type: 'minor' | 'major';
  readonly execution?: 'sync';
  readonly flavor?: 'last-resort';
}

let gc: ((collection: Collection) => void) | undefined;

function collect(collection: Collection): void {
  if (gc === undefined) {
    setFlagsFromString('--expose-gc');
    gc = runInNewContext('gc') as (collection: Collection) => void;
    setFlagsFromString('--no-expose-gc');
  }
  gc(collection);
}

/**
 * Collects the young generation. Gain: requests of 20 KB with 100,000 keys loaded 0.52 to 0.94 of those without keys,
 * because V8 does not mark its whole heap for memory that young objects hold outside it.
 */
export function collectYoung(): void {
  collect({ type: 'minor' });
}

/** Collects everything and gives unused memory back. Gain: 100,000 keys hold half the memory after a start. */
export function collectAll(): void {
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * By how many percent the heap may grow between two collections; 0 leaves it to V8, which more than doubles a large one.
 * Gain: 100 MB less with 100,000 keys and 1,000 nodes of 500 models.
 */
export function setHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/**
 * Keeps V8 from making objects old at birth at places in the code whose objects lived long, as those of a start do.
 * Gain: one process in three kept each request until its whole heap was marked: a quarter fewer requests a second.
 */
export function keepObjectsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
