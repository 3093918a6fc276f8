import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../../../src/observe/log.ts';
import { DataFolder } from '../../../../src/store/folder/data-folder.ts';
import { readRecord, readRecordFile, recordFileText } from '../../../../src/store/folder/record-file.ts';
import { inRecordOrder, Records } from '../../../../src/store/folder/records.ts';
import type { ResourceRecord } from '../../../../src/store/folder/resource-record.ts';
import { eventually } from '../../../support/eventually.ts';

const condition = { type: 'Ready', status: 'True' };
const record = (uid: string, conditions: object[] = []): ResourceRecord => ({
  uid,
  creationTimestamp: '2026-01-01T00:00:00Z',
  generation: 1,
  specMark: 'mark',
  status: { observedGeneration: 1, conditions },
});

let root: string;
let lines: Record<string, unknown>[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'records-'));
  lines = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function open(objects: ReadonlyMap<string, ResourceRecord>): Promise<Records> {
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog({ level: 'info', format: 'json', role: 'test', destination });
  return new Records({
    folder: await DataFolder.open(root, ['state']),
    log,
    recordOf: (id) => objects.get(id),
  });
}

const files = () => readdirSync(join(root, 'state'));

describe('a file of records', () => {
  test('gives back what was put in, with each condition once', () => {
    const other = { type: 'ModelsResolved', status: 'False' };
    const records = new Map([
      ['APIKey/default/a', record('1', [condition, other])],
      ['APIKey/default/b', record('2', [condition])],
      ['APIKey/default/c', { ...record('3'), status: undefined }],
    ]);
    const text = recordFileText(records);
    expect(text.split('ModelsResolved')).toHaveLength(2);
    const file = readRecordFile(text, 'f');
    const { status: _, ...plain } = record('3');
    expect(
      [...(file?.lines ?? [])].map(([id, line]) => [id, readRecord(line, file?.conditions ?? [])]),
    ).toEqual([
      ['APIKey/default/a', records.get('APIKey/default/a')],
      ['APIKey/default/b', records.get('APIKey/default/b')],
      ['APIKey/default/c', plain],
    ]);
  });

  test.each([
    ['nothing', ''],
    ['half a header', '{"version":2,'],
    ['a line cut off', '{"version":2,"conditions":[]}\n{"id":"APIKey/default/a"'],
    ['a strange line', '{"version":2,"conditions":[]}\n[]\n'],
  ])('%s is not one', (_name, text) => {
    expect(readRecordFile(text, 'f')).toBeUndefined();
  });
});

test.each([1, 3])('a file of format %i is not overwritten: what to do is said', (version) => {
  const text = `{"version":${version},"conditions":[]}\n`;
  expect(() => readRecordFile(text, '/data/state/00.jsonl')).toThrow(
    `/data/state/00.jsonl has format ${version}, and this version of the program knows format 2 alone; start the version that wrote it, or remove the folder /data/state`,
  );
});

describe('the records of a folder', () => {
  test('come back, and are written again with those that did not', async () => {
    const objects = new Map(
      [['a', 'b', 'c'].map((name) => [`APIKey/default/${name}`, record(name)] as const)].flat(),
    );
    const first = await open(objects);
    for (const id of objects.keys()) first.set(id, undefined, true);
    await first.close();
    const second = await open(new Map([['APIKey/default/a', record('new')]]));
    await second.openAll();
    expect(second.former('APIKey/default/a')).toMatchObject({ uid: 'a' });
    second.set('APIKey/default/a', undefined, true);
    expect(second.former('APIKey/default/a')).toBeUndefined();
    expect([...second.ids()].sort()).toEqual([...objects.keys()]);
    second.delete('APIKey/default/b');
    await second.close();
    const third = await open(new Map());
    await third.openAll();
    expect([...third.ids()].sort()).toEqual(['APIKey/default/a', 'APIKey/default/c']);
    expect(third.former('APIKey/default/a')).toMatchObject({ uid: 'new' });
    expect(third.former('APIKey/default/c')).toMatchObject({ uid: 'c' });
  });

  test('what changes while its file is being written is on disk once they are closed', async () => {
    const id = 'APIKey/default/a';
    const objects = new Map([[id, record('old')]]);
    const records = await open(objects);
    records.set(id, undefined, true);
    const writing = records.saved(id);
    // The writing has begun: its text was made.
    await wait(0);
    objects.set(id, record('new'));
    records.set(id, undefined, true);
    await Promise.all([writing, records.close()]);
    const again = await open(new Map());
    await again.openAll();
    expect(again.former(id)).toMatchObject({ uid: 'new' });
    await again.close();
  });

  test('one that is needed is on disk when `saved` settles, without the others', async () => {
    const ids = Array.from({ length: 50 }, (_, number) => `APIKey/default/k${number}`);
    const records = await open(new Map(ids.map((id) => [id, record(id)])));
    for (const id of ids) records.set(id, undefined, true);
    await records.saved('APIKey/default/k7');
    const [file = '', ...others] = files();
    expect(others).toEqual([]);
    expect(readFileSync(join(root, 'state', file), 'utf8')).toContain('APIKey/default/k7"');
    await records.close();
    expect(files().length).toBeGreaterThan(20);
  });

  test('a folder that cannot be written is logged when that begins and when it ends', async () => {
    const id = 'APIKey/default/a';
    const records = await open(new Map([[id, record('a')]]));
    rmSync(join(root, 'state'), { recursive: true });
    writeFileSync(join(root, 'state'), 'in the way');
    records.set(id, undefined, true);
    await eventually('the first try fails', () => lines.length > 0);
    rmSync(join(root, 'state'));
    await eventually('a later one works', () => lines.length > 1, 20_000);
    expect(lines).toMatchObject([
      { level: 'error', msg: 'The data folder cannot be written; trying again', folder: root },
      { level: 'info', msg: 'The data folder can be written again', folder: root },
    ]);
    expect(files()).toHaveLength(1);
    await records.close();
  }, 40_000);

  test('a burst of changes is written once it is over', async () => {
    const records = await open(new Map([['APIKey/default/a', record('a')]]));
    for (let count = 0; count < 10; count += 1) {
      records.set('APIKey/default/a', undefined, true);
      await wait(50);
      expect(files()).toEqual([]);
    }
    // Under another name it is not yet whole.
    const whole = () => files().filter((name) => !name.startsWith('.tmp-'));
    for (let tries = 0; whole().length === 0 && tries < 100; tries += 1) await wait(20);
    const [file = ''] = whole();
    const { mtimeMs } = statSync(join(root, 'state', file));
    await wait(300);
    expect(statSync(join(root, 'state', file)).mtimeMs).toBe(mtimeMs);
    await records.close();
  });

  test('a damaged file is told of once, and costs only what it held', async () => {
    const objects = new Map([['APIKey/default/a', record('a')]]);
    const first = await open(objects);
    first.set('APIKey/default/a', undefined, true);
    await first.close();
    for (const file of files()) writeFileSync(join(root, 'state', file), '{"version":2,');
    const second = await open(objects);
    await Promise.all([second.open('APIKey/default/a'), second.open('APIKey/default/a')]);
    expect(second.former('APIKey/default/a')).toBeUndefined();
    expect(lines.map(({ msg }) => msg)).toEqual([
      'A file of the data folder is damaged; what it held is made anew',
    ]);
    await second.close();
  });

  test('objects of one file come one after the other', () => {
    const ids = Array.from({ length: 2_000 }, (_, number) => `APIKey/default/k${number}`);
    expect([...inRecordOrder(ids)].sort()).toEqual([...ids].sort());
  });
});
