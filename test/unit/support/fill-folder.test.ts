import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { fillFolder } from '../../support/fill-folder.ts';

test('a second way of filling a folder keeps what it makes, though the first one’s guard ends meanwhile', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'fill-folder-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const folder = join(parent, 'wanted');
  const failing = fillFolder(folder, () => Promise.reject(new Error('no way')));
  await expect(failing).rejects.toThrow('no way');
  await fillFolder(folder, async (staging) => {
    await writeFile(join(staging, 'made'), 'whole');
    // Longer than a guard takes to start, to be told of its release, and to end.
    for (let waited = 0; waited < 20; waited++) {
      await sleep(50);
      await access(join(staging, 'made'));
    }
    return staging;
  });
  expect(await readFile(join(folder, 'made'), 'utf8')).toBe('whole');
});
