import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeManifest, writeNewManifest } from '../../../../src/cli/edit/write-manifest.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'write-manifest-'));
  file = join(folder, 'a.yaml');
  writeFileSync(file, 'first\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A process that adds a line to the file, and runs `inTheMiddle` (source text) where it makes the new text. */
function writer(line: string, inTheMiddle = '', more = 0) {
  const module = JSON.stringify(new URL('../../../../src/cli/edit/write-manifest.ts', import.meta.url).href);
  const source = `import { writeManifest } from ${module};
    await writeManifest(${JSON.stringify(file)}, (text) => { ${inTheMiddle}; return text + ${JSON.stringify(line)} + 'x'.repeat(${more}) + '\\n'; });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (piece: Buffer) => {
    complaints += piece.toString();
  });
  return {
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves when it has stopped itself. */
    async stopped(): Promise<void> {
      while (!/^State:\s+T/m.test(readFileSync(`/proc/${child.pid}/status`, 'utf8'))) await delay(5);
    },
    ended: once(child, 'close').then(([code]) => ({ code, complaints })),
  };
}

const stop = `process.kill(process.pid, 'SIGSTOP')`;

describe('two processes that edit one file', () => {
  test('lose nothing when one is held up in the middle, for however long', async () => {
    const held = writer('held', stop);
    await held.stopped();
    // Whatever it holds looks a minute old.
    const past = Date.now() / 1000 - 60;
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), past, past);
    const other = writer('other');
    const early = await Promise.race([other.ended, delay(2_000, 'waits')]);
    expect(early).toBe('waits');
    expect(readFileSync(file, 'utf8')).toBe('first\n');
    held.kill('SIGCONT');
    expect(await held.ended).toEqual({ code: 0, complaints: '' });
    expect(await other.ended).toEqual({ code: 0, complaints: '' });
    expect(readFileSync(file, 'utf8')).toBe('first\nheld\nother\n');
    expect(readdirSync(folder)).toEqual(['a.yaml']);
  });

  test('say so when the other takes too long, and change nothing', async () => {
    const held = writer('held', stop);
    await held.stopped();
    await expect(writeManifest(file, () => 'mine')).rejects.toThrow('another process is editing it');
    expect(readFileSync(file, 'utf8')).toBe('first\n');
    held.kill('SIGKILL');
    await held.ended;
    // The lock ends with its process, and what that left is no hindrance.
    expect(await writeManifest(file, (text) => `${text}mine\n`)).toBe('first\nmine\n');
    expect(readdirSync(folder)).toEqual(['a.yaml']);
  });

  test('of six, each stopped for a while, all get their line, and no reader ever sees half a file', async () => {
    const more = 500_000;
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        const text = readFileSync(file, 'utf8');
        expect(text).toMatch(/^first\n(?:w\dx+\n)*$/);
        for (const line of text.split('\n').slice(1, -1)) expect(line).toHaveLength(more + 2);
        await delay(1);
      }
    })();
    const writers = Array.from({ length: 6 }, (_, n) => writer(`w${n}`, '', more));
    const stopping = writers.map(async (each, n) => {
      await delay(50 * n);
      each.kill('SIGSTOP');
      await delay(150);
      each.kill('SIGCONT');
    });
    const ends = await Promise.all(writers.map(({ ended }) => ended));
    await Promise.all(stopping);
    isOver = true;
    await reading;
    expect(ends).toEqual(writers.map(() => ({ code: 0, complaints: '' })));
    expect(
      readFileSync(file, 'utf8')
        .split('\n')
        .slice(1, -1)
        .map((line) => line.slice(0, 2))
        .sort(),
    ).toEqual(writers.map((_, n) => `w${n}`));
    expect(readdirSync(folder)).toEqual(['a.yaml']);
  });
});

describe.each([
  ['with hard links', undefined],
  ['without hard links', () => Promise.reject(Object.assign(new Error('x'), { code: 'EPERM' }))],
])('a new file on a file system %s', (_name, hardLink) => {
  test('is written whole', async () => {
    const path = join(folder, 'new.yaml');
    expect(await writeNewManifest(path, 'text', hardLink)).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('text');
    expect(readdirSync(folder).sort()).toEqual(['a.yaml', 'new.yaml']);
  });

  test('is never written over another', async () => {
    expect(await writeNewManifest(file, 'text', hardLink)).toBe(false);
    expect(readFileSync(file, 'utf8')).toBe('first\n');
    expect(readdirSync(folder)).toEqual(['a.yaml']);
  });

  test('is made by one of many', async () => {
    const path = join(folder, 'new.yaml');
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, n) => writeNewManifest(path, `${n}`, hardLink)),
    );
    expect(made.filter((each) => each)).toHaveLength(1);
    expect(readFileSync(path, 'utf8')).toBe(`${made.indexOf(true)}`);
  });
});
