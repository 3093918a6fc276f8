import { expect, test } from 'vitest';
import { type BatchedWriter, runTogether, writeTogether } from '../../../src/upstream/batches.ts';

const immediate = () => new Promise((resolve) => setImmediate(resolve));

const unexpected = (error: unknown) => {
  throw error;
};

const light = { owner: 'key', weight: 1 };

function writer(written: string[], name: string, then?: () => void): BatchedWriter {
  return {
    writeNow: () => {
      written.push(name);
      then?.();
    },
    failed: unexpected,
  };
}

test('all that is to be written goes out in order, once what has come is read', async () => {
  const written: string[] = [];
  for (const name of ['a', 'b', 'c']) writeTogether(writer(written, name));
  expect(written).toEqual([]);
  await Promise.resolve();
  expect(written).toEqual([]);
  await immediate();
  expect(written).toEqual(['a', 'b', 'c']);
});

test('the first of many does not wait for all of them', async () => {
  const written: string[] = [];
  for (let index = 0; index < 70; index++) writeTogether(writer(written, String(index)));
  expect(written).toHaveLength(64);
  await immediate();
  expect(written).toEqual(Array.from({ length: 70 }, (_, index) => String(index)));
});

test('what a write brings about is written, too', async () => {
  const written: string[] = [];
  writeTogether(writer(written, 'a', () => writeTogether(writer(written, 'b'))));
  await immediate();
  await immediate();
  expect(written).toEqual(['a', 'b']);
});

test('tasks run once what has come is read, and what they bring about is written in the same turn', async () => {
  const done: string[] = [];
  writeTogether(writer(done, 'write a'));
  for (const name of ['b', 'c']) {
    const resolved = new Promise<void>((resolve) => {
      runTogether({
        ...light,
        runNow: () => {
          done.push(`run ${name}`);
          resolve();
        },
        failed: unexpected,
      });
    });
    void resolved.then(() => writeTogether(writer(done, `write ${name}`)));
  }
  await Promise.resolve();
  expect(done).toEqual([]);
  setImmediate(() => done.push('next'));
  await immediate();
  expect(done).toEqual(['run b', 'run c', 'write a', 'write b', 'write c', 'next']);
});

test('the first of many tasks does not wait for all of them', async () => {
  const done: number[] = [];
  for (let index = 0; index < 70; index++)
    runTogether({ ...light, runNow: () => done.push(index), failed: unexpected });
  expect(done).toHaveLength(64);
  await immediate();
  expect(done).toEqual(Array.from({ length: 70 }, (_, index) => index));
});

test('a task that a write brings about is run, too', async () => {
  const done: string[] = [];
  writeTogether(
    writer(done, 'write', () =>
      runTogether({ ...light, runNow: () => done.push('run'), failed: unexpected }),
    ),
  );
  await immediate();
  await immediate();
  expect(done).toEqual(['write', 'run']);
});

test('one that throws is told so, and the others of its batch run all the same', async () => {
  const done: string[] = [];
  const failing = (name: string) => {
    const act = () => {
      throw new Error(name);
    };
    return { runNow: act, writeNow: act, failed: (error: unknown) => done.push(String(error)) };
  };
  for (const name of ['a', 'b']) {
    runTogether({ ...light, ...failing(`run ${name}`) });
    runTogether({ ...light, runNow: () => done.push(`ran after ${name}`), failed: unexpected });
    writeTogether(failing(`write ${name}`));
    writeTogether(writer(done, `written after ${name}`));
  }
  await immediate();
  expect(done).toEqual([
    'Error: run a',
    'ran after a',
    'Error: run b',
    'ran after b',
    'Error: write a',
    'written after a',
    'Error: write b',
    'written after b',
  ]);
});

test('what is too much for one turn of the event loop waits, and its owners take turns', async () => {
  const done: string[] = [];
  const heavy = (owner: string, name: string) =>
    runTogether({ owner, weight: 100 * 1024, runNow: () => done.push(name), failed: unexpected });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) heavy('a', name);
  await immediate();
  expect(done).toEqual(['a1', 'a2']);
  heavy('b', 'b1');
  for (let turn = 0; turn < 4; turn++) await immediate();
  expect(done).toEqual(['a1', 'a2', 'a3', 'b1', 'a4', 'a5']);
});
