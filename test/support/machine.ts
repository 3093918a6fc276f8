import { availableParallelism, cpus, loadavg } from 'node:os';
import process from 'node:process';

/** Where figures were measured, as it was before. */
export interface Machine {
  readonly node: string;
  readonly processor: string;
  readonly cores: number;
  readonly loadBefore: number;
  /** What one read takes that no cache answers, in nanoseconds. */
  readonly readBefore: number;
  readonly date: string;
}

/** To be asked before anything is measured. */
export function describeMachine(): Machine {
  return {
    ...{ node: process.version, processor: cpus()[0]?.model ?? 'unknown', cores: availableParallelism() },
    ...{ loadBefore: loadavg()[0] ?? 0, readBefore: memoryReadNs(), date: new Date().toISOString() },
  };
}

/** One line under a table, to be asked for when all is measured. */
export function machineLine({ node, processor, cores, loadBefore, readBefore }: Machine): string {
  const reads = `a read from memory ${readBefore.toFixed(0)} ns before, ${memoryReadNs().toFixed(0)} after`;
  return `${processor}, ${cores} cores, Node.js ${node}, load ${loadBefore.toFixed(1)} before, ${reads}`;
}

/**
 * A virtual machine's processor keeps its pace while its neighbours fill the caches and the memory's channels: then all that walks
 * through much memory, as starts with 100,000 keys do, takes half as long again, and no other figure of the system tells why.
 */
function memoryReadNs(): number {
  const places = 2 ** 23;
  const next = new Uint32Array(places);
  // Every place once, in an order that no processor foresees (Hull and Dobell: full period, as 1664525 - 1 divides by 4).
  for (let place = 0; place < places; place += 1) {
    next[place] = (Math.imul(place, 1_664_525) + 1_013_904_223) & (places - 1);
  }
  let place = walk(next, 0, 50_000);
  const steps = 200_000;
  const began = performance.now();
  place = walk(next, place, steps);
  const took = performance.now() - began;
  // The place is used, so that nobody may leave out the walk.
  return place < 0 ? 0 : (took * 1e6) / steps;
}

function walk(next: Uint32Array, from: number, steps: number): number {
  let place = from;
  for (let step = 0; step < steps; step += 1) place = next[place] as number;
  return place;
}
