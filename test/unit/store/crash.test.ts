import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
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
  readonly ended: Promise<unknown>;
  kill(): Promise<void>;
}

function start(round: number, work: 'work' | 'hold' | 'die'): Running {
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
    ended,
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

test.each<[string, string]>([
  ['disabled', keyYaml('declared', hashOf(1), 'enabled: false')],
  ['deleted', '# nothing'],
])(
  'a key that was %s stays so after a kill -9, though its file cannot be read then',
  async (_, text) => {
    await (await folders.open()).close();
    const child = start(1, 'die');
    expect(await child.first).toBe('open');
    folders.write('a.yaml', text);
    await child.ended;
    folders.write('a.yaml', '{{{');
    const { store } = await folders.open();
    expect(store.key(hashOf(1))?.resource.spec.enabled ?? false).toBe(false);
  },
  30_000,
);

test('a key that was disabled while nothing ran stays so after a kill -9, though its file cannot be read then', async () => {
  const first = await folders.open();
  await first.close();
  folders.write('a.yaml', keyYaml('declared', hashOf(1), 'enabled: false'));
  const child = start(1, 'hold');
  expect(await child.first).toBe('open');
  await child.kill();
  folders.write('a.yaml', '{{{');
  const { store } = await folders.open();
  expect(store.key(hashOf(1))?.resource.spec.enabled).toBe(false);
}, 30_000);

test('no second process gets the data folder, even if the other files in it were removed', async () => {
  const holder = start(1, 'hold');
  expect(await holder.first).toBe('open');
  for (const name of readdirSync(folders.data).filter((each) => !each.startsWith(stateFile)))
    rmSync(join(folders.data, name));
  expect(await start(2, 'hold').first).toContain('uses the data folder');
}, 30_000);
