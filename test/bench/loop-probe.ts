// Loaded into the gateway's process by `--import`. Meters its stalls between the messages `start` and `stop`; the answer to
// `stop` is what was found.
import process from 'node:process';
import { type Stalls, stallMeter } from './stall-meter.ts';

let end: (() => Stalls) | undefined;

process.on('message', (message) => {
  const found = end?.();
  end = message === 'start' ? stallMeter() : undefined;
  if (message === 'stop') process.send?.(found);
});
// The probe must not keep a process alive that has nothing else to do.
process.channel?.unref();
