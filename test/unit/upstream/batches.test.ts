import { expect, test } from 'vitest';
import { type BatchedWriter, runTogether, writeTogether } from '../../../src/upstream/batches.ts';

const immediate = () => new Promise((resolve) => setImmediate(resolve));

function writer(written: string[], name: string, then?: () => void): BatchedWriter {
  return {
    writeNow: () => {
      written.push(name);
      then?.();
    },
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
        runNow: () => {
          done.push(`run ${name}`);
          resolve();
        },
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
  for (let index = 0; index < 70; index++) runTogether({ runNow: () => done.push(index) });
  expect(done).toHaveLength(64);
  await immediate();
  expect(done).toEqual(Array.from({ length: 70 }, (_, index) => index));
});

test('a task that a write brings about is run, too', async () => {
  const done: string[] = [];
  writeTogether(writer(done, 'write', () => runTogether({ runNow: () => done.push('run') })));
  await immediate();
  await immediate();
  expect(done).toEqual(['write', 'run']);
});
