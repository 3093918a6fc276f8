import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { announceConsole } from '../../src/roles/standalone-console.ts';
import { eventually } from '../support/eventually.ts';
import { startStandalone } from '../support/standalone.ts';

test('the file that the log names holds an address that opens, and the next one when it was used', async () => {
  await using standalone = await startStandalone({ console: true });
  const serving = () => standalone.log().find(({ msg }) => msg === 'Serving the console');
  await eventually('the console is served', () => serving() !== undefined, 10_000, 20);
  const file = join(standalone.folders.data, 'console-address');
  expect(serving()?.['addressFile']).toBe(file);
  const first = (await readFile(file, 'utf8')).trim();
  expect((await fetch(first)).status).toBe(200);
  await eventually(
    'the log names the file again',
    () => standalone.log().some(({ msg }) => msg.startsWith('A browser opened the console')),
    10_000,
    20,
  );
  const second = (await readFile(file, 'utf8')).trim();
  expect(second).not.toBe(first);
  expect((await fetch(second)).status).toBe(200);
  // A log is read by many.
  for (const address of [first, second])
    expect(standalone.output()).not.toContain(address.split('token=')[1]);
});

test('an address is printed on a terminal alone', () => {
  const shown: string[] = [];
  const write = (text: string) => shown.push(text);
  announceConsole('http://127.0.0.1:9091/?token=t', { isTTY: false, write });
  announceConsole(undefined, { isTTY: true, write });
  expect(shown).toEqual([]);
  announceConsole('http://127.0.0.1:9091/?token=t', { isTTY: true, write });
  expect(shown.join('')).toContain('http://127.0.0.1:9091/?token=t (good for one browser');
});
