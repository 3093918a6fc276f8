import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { platform } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stateFile } from '../../../src/store/folder/state-file.ts';
import { hashOf } from './make.ts';
import { Folders, keyYaml } from './open-folder.ts';

const program = fileURLToPath(new URL('crash-child.ts', import.meta.url));
const children: ChildProcess[] = [];
let folders: Folders;
beforeEach(() => {
  folders = new Folders({ 'a.yaml': keyYaml('declared', hashOf(1)) });
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await folders.remove();
});

interface Running {
  readonly pid: number | undefined;
  readonly lines: string[];
  /** The first line, or that there was none. */
  readonly first: Promise<string>;
  kill(): Promise<void>;
}

function start(round: number, work: 'work' | 'hold'): Running {
  const child = spawn(process.execPath, [program, folders.manifests, folders.data, String(round), work], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const ended = once(child, 'exit');
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  const first = Promise.race([
    once(reader, 'line').then(([line]) => String(line)),
    ended.then(() => 'nothing'),
  ]);
  return {
    pid: child.pid,
    lines,
    first,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

test('a kill -9 at any moment loses nothing that was answered and leaves no half-written file', async () => {
  const answered: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    const child = start(round, 'work');
    expect(await child.first).toBe('open');
    await wait(20 + Math.random() * 300);
    await child.kill();
    answered.push(...child.lines.slice(1));
    const database = new DatabaseSync(join(folders.data, stateFile), { readOnly: true });
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    const rows = database.prepare('SELECT value FROM record UNION ALL SELECT value FROM secret').all();
    for (const { value } of rows) expect(() => JSON.parse(String(value))).not.toThrow();
    database.close();
  }
  expect(answered.length).toBeGreaterThan(8);
  const log: Record<string, unknown>[] = [];
  const { store } = await folders.open(log);
  const signal = new AbortController().signal;
  for (const name of answered) {
    expect(store.get('APIKey', 'default', name)?.metadata.name).toBe(name);
    expect(await store.readSecret('default', name, signal), name).toBeDefined();
  }
  expect(log.filter(({ level }) => level === 'error')).toEqual([]);
}, 60_000);

test('of processes that start at once one gets the data folder; a kill -9 gives it free', async () => {
  const running = [1, 2, 3, 4].map((round) => start(round, 'hold'));
  const first = await Promise.all(running.map((child) => child.first));
  expect(first.filter((line) => line === 'open')).toHaveLength(1);
  const holder = running[first.indexOf('open')]?.pid;
  // Only Linux says who holds a lock.
  const process = platform() === 'linux' ? `Another process (${holder})` : 'Another process';
  for (const line of first.filter((each) => each !== 'open')) {
    expect(line).toContain(`${process} uses the data folder ${folders.data}`);
    expect(line).toContain('--data');
  }
  await running[first.indexOf('open')]?.kill();
  const next = start(5, 'hold');
  expect(await next.first).toBe('open');
}, 60_000);
