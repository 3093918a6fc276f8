import { collectYoung } from '../../src/runtime/node-internals.ts';

const everyMilliseconds = 20;

/**
 * To be called again and again while latencies are taken: lets V8 collect this process's young objects before what was read
 * from sockets makes it mark the whole heap. That stopped the generator for 10 ms several times a second; whatever was due
 * meanwhile then came at once, and what a proxy took for so much at a time was told as its latency.
 */
export function youngCollector(): () => void {
  let last = performance.now();
  return () => {
    const now = performance.now();
    if (now - last < everyMilliseconds) return;
    last = now;
    collectYoung();
  };
}
