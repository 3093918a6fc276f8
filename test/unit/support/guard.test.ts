import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { withExclusiveLock } from '../../support/exclusive-lock.ts';

const support = new URL('../../support/', import.meta.url).href;
let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guard-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a module in a process of its own and returns the first line it writes. */
async function runUntilFirstLine(source: string): Promise<string> {
  const started = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: started.stdout });
    lines.once('line', resolve);
    lines.once('close', () => reject(new Error('the process ended without a word')));
  });
}

test('what a process has started and made goes with it, even by kill -9', async () => {
  const made = join(folder, 'made');
  await runUntilFirstLine(`
    import { spawn } from 'node:child_process';
    import { mkdirSync } from 'node:fs';
    import { startGuard } from '${support}guard.ts';
    const guard = startGuard();
    mkdirSync(${JSON.stringify(made)});
    guard.watchFolder(${JSON.stringify(made)});
    const sleeper = spawn('sleep', ['60'], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] });
    guard.watch(sleeper.pid);
    console.log('started');
    setInterval(() => {}, 1000);
  `);
  expect(existsSync(made)).toBe(true);
  child?.kill('SIGKILL');
  await eventually('the folder is gone', () => !existsSync(made));
  // The sleeper shares the pipe, so its end is the end of the last of them. Asking for its pid would not do: a machine
  // may keep the dead as zombies.
  await eventually('the process is gone', () => child?.stdout?.closed === true);
});

test('a lock whose holder died by kill -9 is free at once', async () => {
  const file = join(folder, 'lock');
  await runUntilFirstLine(`
    import { withExclusiveLock } from '${support}exclusive-lock.ts';
    await withExclusiveLock(${JSON.stringify(file)}, 1000, () => {}, () => {
      console.log('held');
      return new Promise((resolve) => setTimeout(resolve, 60_000));
    });
  `);
  const inTime = withExclusiveLock(
    file,
    0,
    () => undefined,
    async () => 'mine',
  );
  await expect(inTime).rejects.toThrow('another process has held this lock');
  child?.kill('SIGKILL');
  let waited = 0;
  const mine = await withExclusiveLock(
    file,
    5_000,
    () => waited++,
    async () => 'mine',
  );
  expect([mine, waited <= 1]).toEqual(['mine', true]);
});
