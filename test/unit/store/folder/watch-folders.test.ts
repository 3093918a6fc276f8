import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { expect, test } from 'vitest';
import { createLog } from '../../../../src/observe/log.ts';
import { watchFolders } from '../../../../src/store/folder/watch-folders.ts';

const log = createLog({ level: 'error', format: 'json', role: 'test', destination: { write: () => {} } });

/** Counts the looks at a new folder, each of which takes 100 ms, within `ms`; a file is written after `writeAfterMs`. */
async function looks(ms: number, writeAfterMs?: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'watch-folders-'));
  const over = new AbortController();
  let count = 0;
  const watching = watchFolders([folder], { log, signal: over.signal, quietMs: 5, pollMs: 10 }, async () => {
    count += 1;
    await sleep(100);
    return [folder];
  });
  if (writeAfterMs !== undefined) {
    await sleep(writeAfterMs);
    await writeFile(join(folder, 'a'), 'a');
  }
  await sleep(ms);
  over.abort();
  await watching;
  await rm(folder, { recursive: true });
  return count;
}

test('folders are looked at again and again without being told', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'watch-folders-'));
  const over = new AbortController();
  let left = 5;
  // Each look is followed by a hundred times as long a pause, so only their number is sure, not their pace.
  const watching = watchFolders([folder], { log, signal: over.signal, quietMs: 5, pollMs: 10 }, async () => {
    left -= 1;
    if (left === 0) over.abort();
    return [folder];
  });
  await watching;
  await rm(folder, { recursive: true });
  expect(left).toBe(0);
});

test('seldom where a look takes long, but at once when told of a change', async () => {
  expect(await looks(600)).toBe(1);
  expect(await looks(600, 400)).toBeGreaterThan(1);
});

test('looking again and again while nothing changes leaves nothing behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'watch-folders-'));
  const over = new AbortController();
  let looked = 0;
  const watching = watchFolders([folder], { log, signal: over.signal, quietMs: 1, pollMs: 0 }, async () => {
    looked += 1;
    return [folder];
  });
  const promisesAfter = async (times: number): Promise<number> => {
    while (looked < times) await sleep(10);
    return Number(queryObjects(Promise, { format: 'count' }));
  };
  const before = await promisesAfter(100);
  const after = await promisesAfter(looked + 600);
  over.abort();
  await watching;
  await rm(folder, { recursive: true });
  // What others of this process keep meanwhile is far less than one for each look.
  expect(after - before).toBeLessThan(300);
});
