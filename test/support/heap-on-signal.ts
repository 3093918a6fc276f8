// Loaded into a process before its own code (`--import`): at SIGUSR2 it collects garbage and logs what is left of the heap.
import process from 'node:process';
import { collectAll } from '../../src/runtime/node-internals.ts';

process.on('SIGUSR2', () => {
  collectAll();
  const { heapUsed } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ msg: 'Heap', at: performance.now(), bytes: heapUsed })}\n`);
});
