/** Smaller ones cost less in wait for a collection than a call here. */
const leastBytes = 12 * 1024;

/**
 * Gives the memory of a Buffer back at once. Nobody may read it afterwards: neither JavaScript, which finds it empty, nor
 * a write to a socket that is under way, which would send what other requests put there.
 *
 * V8 marks its whole heap again for each 64 MB of such memory that waits to be found dead; with 100,000 keys loaded
 * requests of 400 KB took twice the time because of it. Does nothing to a part of a larger memory.
 */
export function freeBuffer(buffer: Uint8Array): void {
  const memory = buffer.buffer;
  if (buffer.length < leastBytes || memory.byteLength !== buffer.length) return;
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}
