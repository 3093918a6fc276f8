import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../../../src/observe/log.ts';
import { Records } from '../../../../src/store/folder/records.ts';
import type { ResourceRecord } from '../../../../src/store/folder/resource-record.ts';
import { StateFile } from '../../../../src/store/folder/state-file.ts';
import { eventually } from '../../../support/eventually.ts';
import { changeState, holdsRow, readState } from '../open-folder.ts';

const record = (uid: string): ResourceRecord => ({
  uid,
  creationTimestamp: '2026-01-01T00:00:00Z',
  generation: 1,
  specMark: 'mark',
  status: { observedGeneration: 1 },
});

let root: string;
let state: StateFile;
let lines: Record<string, unknown>[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'records-'));
  state = StateFile.open(root);
  lines = [];
});
afterEach(() => {
  state.close();
  rmSync(root, { recursive: true, force: true });
});

function open(objects: ReadonlyMap<string, ResourceRecord>): Records {
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog({ level: 'info', format: 'json', role: 'test', destination });
  return new Records(state, log, (id) => objects.get(id));
}

const [a, b, c] = ['APIKey/default/a', 'APIKey/default/b', 'APIKey/default/c'];

test('they come back, and those that did not come back stay', async () => {
  const objects = new Map([a, b, c].map((id) => [id, record(id)] as const));
  const first = open(objects);
  for (const id of objects.keys()) first.set(id, 'a.yaml', true);
  await first.close();
  const second = open(new Map([[a, record('new')]]));
  expect(second.former(a)).toEqual({ ...record(a), file: 'a.yaml' });
  second.set(a, undefined, true);
  expect(second.former(a)).toBeUndefined();
  expect(second.formerIds()).toEqual([b, c]);
  second.delete(b);
  expect([second.former(b), second.formerIds()]).toEqual([undefined, [c]]);
  await second.close();
  const third = open(new Map());
  expect(third.formerIds()).toEqual([a, c]);
  expect(third.former(a)).toEqual(record('new'));
});

test('what changes while it is being written is on disk once they are closed', async () => {
  const objects = new Map([[a, record('old')]]);
  const records = open(objects);
  records.set(a, undefined, true);
  const writing = records.saved(a);
  objects.set(a, record('new'));
  records.set(a, undefined, true);
  await Promise.all([writing, records.close()]);
  expect(open(new Map()).former(a)).toMatchObject({ uid: 'new' });
});

test('one that is needed is on disk when `saved` settles, without the others', async () => {
  const ids = Array.from({ length: 50 }, (_, number) => `APIKey/default/k${number}`);
  const records = open(new Map(ids.map((id) => [id, record(id)])));
  for (const id of ids) records.set(id, undefined, true);
  await records.saved('APIKey/default/k7');
  expect([...readState(root).all('record').keys()]).toEqual(['APIKey/default/k7']);
  await eventually('the others follow', () => readState(root).all('record').size === 50);
  await records.close();
});

test('a state file that cannot be written is logged when that begins and when it ends', async () => {
  const records = open(new Map([[a, record('a')]]));
  changeState(root, `CREATE TRIGGER full BEFORE INSERT ON record BEGIN SELECT RAISE(ABORT, 'full'); END`);
  records.set(a, undefined, true);
  await expect(records.saved(a)).rejects.toThrow('full');
  await eventually('the first try fails', () => lines.length > 0);
  changeState(root, 'DROP TRIGGER full');
  await eventually('a later one works', () => lines.length > 1, 20_000);
  expect(lines).toMatchObject([
    { level: 'error', msg: 'The data folder cannot be written; trying again' },
    { level: 'info', msg: 'The data folder can be written again' },
  ]);
  expect(holdsRow(root, 'record', a)).toBe(true);
  await records.close();
}, 40_000);

test('a damaged record is logged, and costs only what it held', async () => {
  const records = open(
    new Map([
      [a, record('a')],
      [b, record('b')],
    ]),
  );
  for (const id of [a, b]) records.set(id, undefined, true);
  await records.close();
  changeState(root, `UPDATE record SET value = '{"uid":' WHERE id = '${a}'`);
  const again = open(new Map());
  expect([again.former(a), again.former(b)?.uid]).toEqual([undefined, 'b']);
  expect(lines).toMatchObject([{ object: a, msg: 'A stored record is damaged; what it held is made again' }]);
});
