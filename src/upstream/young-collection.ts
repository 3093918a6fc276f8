import { getHeapStatistics } from 'node:v8';
import { collectYoung } from '../runtime/node-internals.ts';

/** Well below the 64 MB of external memory at which V8 marks its whole heap. */
const mostBytes = 24 * 1024 * 1024;
/** In a heap smaller than this, marking takes no longer than a collection of the young generation. */
const largeHeapBytes = 100e6;

let bytes = 0;

/**
 * Counts the external memory that requests leave behind (slices of socket buffers), and makes V8 collect the young generation
 * when there is much of it. V8 itself collects the young generation only when its part of the heap is full. Requests make so
 * few objects that external memory reaches its limit first, and then V8 marks the whole heap: with
 * 100,000 keys loaded, requests of 20 KB took twice the time.
 */
export function leaveBehind(size: number): void {
  bytes += size;
  if (bytes < mostBytes) return;
  bytes = 0;
  if (getHeapStatistics().used_heap_size < largeHeapBytes) return;
  collectYoung();
}
