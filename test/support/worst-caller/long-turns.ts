import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

// Imported into a gateway's process (`--import`): writes to the file LONG_TURNS how many milliseconds of processor time
// the long turns of its event loop have taken. Processor time does not depend on what else the machine does.

const longMs = 10;
const file = process.env['LONG_TURNS'];
let inLongTurns = 0;
let last = process.threadCpuUsage();

if (isMainThread && file !== undefined) {
  // A timer runs at most once in a turn.
  setInterval(() => {
    const now = process.threadCpuUsage();
    const ms = (now.user - last.user + now.system - last.system) / 1000;
    last = now;
    if (ms > longMs) inLongTurns += ms;
  }, 1).unref();
  setInterval(() => {
    writeFileSync(`${file}.next`, JSON.stringify({ inLongTurns }));
    renameSync(`${file}.next`, file);
  }, 100).unref();
}
