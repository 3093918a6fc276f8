import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

// A process of its own, started by guard.ts. Its standard input is a pipe from the test process: when that closes,
// however the test process ended (kill -9 too), everything still on the list is killed and removed. Nothing inside the
// test process could do that.
const groups = new Set<number>();
const folders = new Set<string>();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const [verb, ...rest] = line.split(' ');
  const argument = rest.join(' ');
  if (verb === 'watch') groups.add(Number(argument));
  if (verb === 'forget') groups.delete(Number(argument));
  if (verb === 'folder') folders.add(argument);
  if (verb === 'keep') folders.delete(argument);
});
lines.on('close', () => {
  for (const group of groups) killGroup(group);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
});

function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // Ended by itself.
  }
}
