// A process of `honest-caller.ts`: asks 100 times a second, on kept connections, and tells how long that took.
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../bench/statistics.ts';
import { askingOf } from '../soak/ask.ts';

const { ask } = askingOf(Number(process.argv[2]));
const key = process.env['KEY'] ?? '';
const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] });
let times: number[] = [];
let wrong: string[] = [];
let stopped = false;

process.on('message', () => {
  process.send?.({ count: times.length, medianMs: median(times), wrong });
  times = [];
  wrong = [];
});
process.on('disconnect', () => {
  stopped = true;
  process.exit();
});

// The node is there a moment after it was declared.
for (let tries = 0; tries < 200 && (await status()) !== 200; tries++) await delay(50);
process.send?.('ready');
while (!stopped) {
  const began = performance.now();
  try {
    const seen = await status();
    if (seen !== 200 && wrong.length < 20) wrong.push(`HTTP ${seen}`);
  } catch (error) {
    if (wrong.length < 20) wrong.push(String(error));
  }
  times.push(performance.now() - began);
  await delay(10);
}

async function status(): Promise<number> {
  const { status: seen, text } = await ask({ path: '/v1/chat/completions', key, body });
  return seen === 200 && !text.includes('"content":"Hi"') ? 0 : seen;
}
