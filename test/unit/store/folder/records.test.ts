import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog } from '../../../../src/observe/log.ts';
import { DamagedRows } from '../../../../src/store/folder/damaged-rows.ts';
import { Records, type Sourced } from '../../../../src/store/folder/records.ts';
import { StateFile } from '../../../../src/store/folder/state-file.ts';
import { eventually } from '../../../support/eventually.ts';
import { hashOf, makeKey } from '../make.ts';
import { changeState, holdsRow, readState } from '../open-folder.ts';

const object = (name: string, uid = name): Sourced => ({
  resource: makeKey({ hash: hashOf(1) }, { name, uid }),
  file: 'a.yaml',
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

function open(): Records {
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog({ level: 'info', format: 'json', role: 'test', destination });
  return new Records(state, log, new DamagedRows(log, '../data/state.sqlite'));
}

/** As a change of a status does. */
function change(records: Records, id: string, to: Sourced): void {
  records.set(id, to);
  records.note(id);
}

const [a, b, c] = ['APIKey/default/a', 'APIKey/default/b', 'APIKey/default/c'];

test('they come back, and those that did not come back stay', async () => {
  const first = open();
  await first.write(['a', 'b', 'c'].map((name) => ({ id: `APIKey/default/${name}`, next: object(name) })));
  await first.close();
  const second = open();
  expect(second.former(a)).toMatchObject({ uid: 'a', file: 'a.yaml' });
  change(second, a, { ...object('a', 'new'), file: undefined });
  expect(second.former(a)).toBeUndefined();
  expect(second.formerIds()).toEqual([b, c]);
  await second.write([{ id: b, next: undefined }]);
  expect([second.former(b), second.formerIds()]).toEqual([undefined, [c]]);
  await second.close();
  const third = open();
  expect(third.formerIds()).toEqual([a, c]);
  expect(third.former(a)).toMatchObject({ uid: 'new' });
});

test('what changes while it is being written is on disk once they are closed', async () => {
  const records = open();
  change(records, a, object('a', 'old'));
  const writing = records.saved(a);
  change(records, a, object('a', 'new'));
  await Promise.all([writing, records.close()]);
  expect(open().former(a)).toMatchObject({ uid: 'new' });
});

test('an older object that is waiting is not written over the next one', async () => {
  const records = open();
  change(records, a, object('a', 'old'));
  await records.write([{ id: a, next: object('a', 'next') }]);
  await records.close();
  expect(open().former(a)).toMatchObject({ uid: 'next' });
});

test('one that is needed is on disk when `saved` settles, without the others', async () => {
  const names = Array.from({ length: 50 }, (_, number) => `k${number}`);
  const records = open();
  for (const name of names) change(records, `APIKey/default/${name}`, object(name));
  await records.saved('APIKey/default/k7');
  expect([...readState(root).all('record').keys()]).toEqual(['APIKey/default/k7']);
  await eventually('the others follow', () => readState(root).all('record').size === 50);
  await records.close();
});

test('a state file that cannot be written is logged when that begins and when it ends, and no change waits for it', async () => {
  const records = open();
  const full = vi.spyOn(state, 'write').mockRejectedValue(new Error('full'));
  await records.write([{ id: b, next: object('b') }]);
  records.set(b, object('b'));
  change(records, a, object('a'));
  await expect(records.saved(a)).rejects.toThrow('full');
  await eventually('the first try fails', () => lines.length > 0);
  full.mockRestore();
  await eventually('a later one works', () => lines.length > 1, 20_000);
  expect(lines).toMatchObject([
    { level: 'error', msg: 'The data folder cannot be written; trying again' },
    { level: 'info', msg: 'The data folder can be written again' },
  ]);
  expect([holdsRow(root, 'record', a), holdsRow(root, 'record', b)]).toEqual([true, true]);
  await records.close();
}, 40_000);

test('a damaged record is logged, and costs only what it held', async () => {
  const records = open();
  await records.write([a, b].map((id) => ({ id, next: object(id.slice(-1)) })));
  await records.close();
  state.close();
  changeState(root, `UPDATE record SET value = '{"uid":' WHERE id = '${a}'`);
  state = StateFile.open(root);
  const again = open();
  expect([again.former(a), again.former(b)?.uid]).toEqual([undefined, 'b']);
  expect(lines).toMatchObject([{ object: a, msg: 'A row of the state file is damaged' }]);
});
