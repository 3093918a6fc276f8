// Loaded into a process before its own code (`--import`): at SIGUSR2 it collects garbage and logs what is left of the heap.
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('SIGUSR2', () => {
  collect();
  const { heapUsed } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ msg: 'Heap', at: performance.now(), bytes: heapUsed })}\n`);
});
