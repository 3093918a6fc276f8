// Loaded into a process before its own code (`--import`): at SIGUSR2 it collects garbage and logs what is left of the heap.
import process from 'node:process';
import { collector } from '../../src/upstream/collector.ts';

const collect = collector();
process.on('SIGUSR2', () => {
  collect({ type: 'major', execution: 'sync' });
  const { heapUsed } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ msg: 'Heap', at: performance.now(), bytes: heapUsed })}\n`);
});
