import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StateFile, stateFile } from '../../../../src/store/folder/state-file.ts';
import { recipientFile } from '../../../../src/store/sealing.ts';
import { changeState, readState } from '../open-folder.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'state-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const path = () => join(root, stateFile);
const row = (id: string, text: string | undefined) => ({ table: 'secret', id, text }) as const;

async function filled(rows = 200): Promise<void> {
  const state = StateFile.open(root);
  await state.write(Array.from({ length: rows }, (_, number) => row(`k${number}`, 'x'.repeat(500))));
  state.close();
}

test('rows that are written together are there together, and survive a restart', async () => {
  const state = StateFile.open(root);
  const writes = [
    state.write([row('a', 'text'), row('b', 'text')]),
    state.write([row('a', undefined), row('c', 'other')]),
  ];
  await Promise.all(writes);
  expect(readState(root).all('secret')).toEqual(
    new Map([
      ['b', 'text'],
      ['c', 'other'],
    ]),
  );
  void state.write([row('d', 'text')]);
  state.close();
  const again = StateFile.open(root);
  expect([...again.all('secret').keys()]).toEqual(['b', 'c', 'd']);
  again.close();
});

test('no other process can write or lock it while it is open, nor make a write wait', async () => {
  const state = StateFile.open(root);
  const other = new DatabaseSync(path(), { timeout: 0 });
  for (let number = 0; number < 3; number += 1) {
    expect(() => other.exec('BEGIN IMMEDIATE')).toThrow('database is locked');
    await state.write([row('a', `${number}`)]);
  }
  expect(other.prepare('SELECT value FROM secret').get()).toEqual({ value: '2' });
  expect(() => StateFile.open(root)).toThrow(/uses the data folder/);
  state.close();
  other.exec('BEGIN IMMEDIATE');
  other.close();
});

test.each([
  ['removed', () => rmSync(path())],
  ['replaced by a copy', () => renameSync(copyOf(path()), path())],
  ['left without its log', () => rmSync(`${path()}-wal`)],
])('a file that is %s while it is open takes no write', async (_, change) => {
  const state = StateFile.open(root);
  await state.write([row('a', 'text')]);
  change();
  await expect(state.write([row('b', 'text')])).rejects.toThrow(
    /was removed or replaced.*restore the data folder/,
  );
  state.close();
});

function copyOf(file: string): string {
  copyFileSync(file, `${file}.copy`);
  return `${file}.copy`;
}

test('its log stays small, also with a lock that is always held', async () => {
  const state = StateFile.open(root);
  for (let number = 0; number < 60; number += 1) await state.write([row('a', 'x'.repeat(250_000))]);
  expect(statSync(`${path()}-wal`).size).toBeLessThan(10e6);
  state.close();
});

test('a reader in another process sees each write at once, and none waits for it', async () => {
  const state = StateFile.open(root);
  const program = `
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(process.argv[1], { readOnly: true });
    // A read that does not end: it would keep a writer of a rollback journal from committing.
    const rows = database.prepare('SELECT * FROM secret').iterate();
    rows.next();
    process.stdin.on('data', (id) => {
      const other = new DatabaseSync(process.argv[1], { readOnly: true });
      const found = other.prepare('SELECT value FROM secret WHERE id = ?').get(String(id));
      other.close();
      process.stdout.write(String(found?.value));
    });
    process.stdout.write('open');`;
  await state.write(Array.from({ length: 2_000 }, (_, number) => row(`old${number}`, 'text')));
  const child = spawn(process.execPath, ['-e', program, path()], { stdio: ['pipe', 'pipe', 'inherit'] });
  const said = async () => String((await once(child.stdout, 'data'))[0]);
  expect(await said()).toBe('open');
  for (let number = 0; number < 5; number += 1) {
    await state.write([row(`new${number}`, `text ${number}`)]);
    child.stdin.write(`new${number}`);
    expect(await said()).toBe(`text ${number}`);
  }
  child.kill();
  state.close();
});

describe('a file that cannot be used stops the start, stays as it is, and says what to do', () => {
  const refusal = (): string => {
    try {
      StateFile.open(root).close();
    } catch (error) {
      return String(error);
    }
    return 'opened';
  };

  test('of another format', async () => {
    await filled();
    changeState(root, 'PRAGMA user_version = 9');
    expect(refusal()).toMatch(
      /state\.sqlite has format 9, .*format 1 alone; start the version that wrote it/,
    );
  });

  test.each<[string, () => void]>([
    ['missing', () => rmSync(path())],
    ['emptied', () => truncateSync(path(), 0)],
    ['without its tables', () => changeState(root, 'DROP TABLE record')],
  ])('of a folder that was used: %s', async (how, harm) => {
    await filled();
    writeFileSync(join(root, recipientFile), 'age1x');
    harm();
    if (how === 'without its tables') return expect(refusal()).not.toBe('opened');
    expect(refusal()).toMatch(/state\.sqlite is missing or empty, although .*sealing-recipient\.txt/);
    rmSync(join(root, recipientFile));
    expect(refusal()).toMatch(/remove .* what begins with the file's name/);
    rmSync(`${path()}-commits`);
    expect(refusal()).toBe('opened');
  });

  test('missing, but not its log', async () => {
    const state = StateFile.open(root);
    await state.write([row('k', 'x')]);
    rmSync(path());
    expect(refusal()).toMatch(/missing or empty/);
    state.close();
  });

  /** What a kill leaves: the files of a process that wrote `writes` times and did not close. */
  async function killed(writes: number): Promise<void> {
    const state = StateFile.open(root);
    for (let number = 0; number < writes; number += 1)
      await state.write([row(`k${number}`, 'x'.repeat(5_000))]);
    const copy = mkdtempSync(join(tmpdir(), 'killed-'));
    for (const suffix of parts) copyFileSync(`${path()}${suffix}`, join(copy, `copy${suffix}`));
    state.close();
    for (const suffix of parts) copyFileSync(join(copy, `copy${suffix}`), `${path()}${suffix}`);
    rmSync(copy, { recursive: true });
  }
  const parts = ['', '-wal', '-commits'];
  const log = () => `${path()}-wal`;

  test.each<[string, () => void]>([
    ['removed', () => rmSync(log())],
    ['emptied', () => truncateSync(log(), 0)],
    ['cut', () => truncateSync(log(), Math.floor(statSync(log()).size / 2))],
    ['cut by its last commit', () => truncateSync(log(), statSync(log()).size - 8_240)],
    ['overwritten', () => writeFileSync(log(), Buffer.alloc(statSync(log()).size))],
  ])('after a kill, with its log %s; it starts again once the log is back', async (_, harm) => {
    await killed(10);
    const whole = readFileSync(log());
    harm();
    const message =
      /state\.sqlite lacks the last \d+ changes? that were stored: its log .*state\.sqlite-wal was removed or cut.*restore all files.*remove .*state\.sqlite-commits/;
    expect(refusal()).toMatch(message);
    expect(refusal()).toMatch(message);
    writeFileSync(log(), whole);
    const state = StateFile.open(root);
    expect(state.all('secret').size).toBe(10);
    state.close();
  });

  test('with an older copy in its place; it starts once the count is removed', async () => {
    await filled(1);
    copyFileSync(path(), join(root, 'backup'));
    const state = StateFile.open(root);
    await state.write([row('later', 'x')]);
    state.close();
    copyFileSync(join(root, 'backup'), path());
    expect(refusal()).toMatch(/lacks the last 1 change that were stored/);
    rmSync(`${path()}-commits`);
    expect(refusal()).toBe('opened');
  });

  test('but not after a kill or a loss of power, nor with a count that cannot be read', async () => {
    await killed(10);
    writeFileSync(`${path()}-commits`, '               3\n');
    expect(refusal()).toBe('opened');
    writeFileSync(`${path()}-commits`, 'nonsense');
    expect(refusal()).toBe('opened');
    const state = StateFile.open(root);
    expect(state.all('secret').size).toBe(10);
    await state.write([row('a', 'x')]);
    state.close();
    expect(readFileSync(`${path()}-commits`, 'utf8')).toMatch(/^ +11\n$/);
  });

  test('of another program', () => {
    changeState(root, 'CREATE TABLE theirs (id TEXT)');
    expect(refusal()).toMatch(/is not a state file of model-gateway; move it away/);
  });

  test.each<[string, () => void]>([
    ['no database', () => writeFileSync(path(), 'x'.repeat(5_000))],
    ['cut off', () => truncateSync(path(), 20_480)],
    [
      'with pages overwritten',
      () => {
        const file = openSync(path(), 'r+');
        for (let at = 8_192; at < 40_960; at += 4_096)
          writeSync(file, Buffer.alloc(4_096, 0xa5), 0, 4_096, at);
        closeSync(file);
      },
    ],
  ])('damaged: %s', async (_, damage) => {
    await filled();
    damage();
    const before = readFileSync(path());
    expect(refusal()).toMatch(
      /is damaged \(.*\); restore the data folder from a backup, or remove this file/,
    );
    expect(readFileSync(path()).equals(before)).toBe(true);
  });

  test.each(['keys', 'secrets', 'state'])('of the older layout, with files in %s', (folder) => {
    mkdirSync(join(root, folder, 'default'), { recursive: true });
    expect(refusal()).toBe('opened');
    writeFileSync(join(root, folder, 'default', 'k'), '{}');
    expect(refusal()).toContain(`written by an older version of model-gateway (it holds files in ${folder})`);
    expect(refusal()).toContain(`start that version, or name another folder with --data`);
  });

  // Nothing keeps root from writing.
  test.skipIf(process.getuid?.() === 0)('in a folder that is read-only (left out for root)', () => {
    chmodSync(root, 0o500);
    expect(refusal()).toMatch(/cannot be used \(.*\); check its permissions/);
    chmodSync(root, 0o700);
  });
});

test('others may not read the file, also one that was opened to them', async () => {
  await filled();
  chmodSync(path(), 0o644);
  StateFile.open(root).close();
  expect(statSync(path()).mode & 0o777).toBe(0o600);
});

test('a disk that is full: the write fails, what was written stays, and later writes work', async () => {
  const program = fileURLToPath(new URL('full-disk-child.ts', import.meta.url));
  // The limit on the size of a file stands for the disk: the write fails in the same place of SQLite.
  const child = spawn(
    'bash',
    ['-c', 'ulimit -f 512; trap "" XFSZ; exec "$0" "$1" "$2"', process.execPath, program, root],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let said = '';
  child.stdout.on('data', (bytes) => {
    said += String(bytes);
  });
  await once(child, 'close');
  expect(said).toBe('small ok\nlarge refused\nsmall ok\n');
  const state = StateFile.open(root);
  expect([...state.all('secret').keys()]).toEqual(['first', 'second']);
  state.close();
});
