import { getHeapStatistics } from 'node:v8';
import { collectAll, setHeapGrowth } from '../runtime/node-internals.ts';

const largeBytes = 100e6;
const percent = 40;
let isSlow = false;

/**
 * Lets the heap grow by less between two collections while it holds a large set of resources. V8 would let it more than
 * double, which is garbage of the loading and of the first statuses for the most part; what requests leave behind dies
 * young and does not count. 100,000 keys and 1,000 nodes of 500 models take 100 MB less so. A small heap grows as V8
 * likes. `isLoading`: how large the set will be is not known yet.
 */
export function fitHeapGrowth(isLoading: boolean): void {
  const wanted = isLoading || getHeapStatistics().used_heap_size > largeBytes;
  if (wanted === isSlow) return;
  isSlow = wanted;
  setHeapGrowth(wanted ? percent : 0);
}

/**
 * Gives back what loading took beyond what is kept. V8 by itself keeps it for as long as the process lives: 100,000 keys
 * would hold twice their memory. Stops the process for up to half a second, so only before it serves.
 */
export function trimHeap(): void {
  if (getHeapStatistics().total_heap_size < largeBytes) return;
  collectAll();
}
