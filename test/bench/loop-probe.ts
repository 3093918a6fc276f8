// Loaded into the gateway's process by `--import`. Between the messages `start` and `stop` a timer of 1 ms notes how late it
// comes; the answer to `stop` is a report: `{stalls: number[], milliseconds}`, stalls of 2 ms and more in milliseconds.
import process from 'node:process';

let timer: NodeJS.Timeout | undefined;
let begin = 0;
let stalls: number[] = [];

process.on('message', (message) => {
  clearInterval(timer);
  if (message === 'start') {
    stalls = [];
    begin = performance.now();
    let last = begin;
    timer = setInterval(() => {
      const now = performance.now();
      if (now - last >= 2) stalls.push(now - last - 1);
      last = now;
    }, 1).unref();
  } else if (message === 'stop') {
    process.send?.({ stalls, milliseconds: performance.now() - begin });
  }
});
// The probe must not keep a process alive that has nothing else to do.
process.channel?.unref();
