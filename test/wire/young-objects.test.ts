import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { bareEnvironment } from '../support/bare-environment.ts';
import { startProgram } from '../support/program.ts';
import { runToEnd } from '../support/run-to-end.ts';
import { newFolders } from '../support/standalone.ts';

// These lines show which objects V8 allocates in the old generation at once. It did so for requests in one gateway of three, whose
// memory was then freed only by a collection of the whole heap.
const flag = '--trace-pretenuring-statistics';
const told = 'pretenuring: ';
const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

test('a role makes no object old at birth, whatever lived long while it started', async () => {
  const keepsAll = 'const kept = []; for (let i = 0; i < 1e6; i++) kept.push([i]);';
  const plain = await runToEnd(process.execPath, [flag, '-e', keepsAll], {
    env: bareEnvironment(),
    timeoutMs: 30_000,
  });
  expect(plain.stdout, 'what Node.js does by itself').toContain(told);

  await using folders = await newFolders();
  const listen = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  await using program = startProgram({
    program: [process.execPath, flag, mainFile],
    args: ['standalone', '--manifests', folders.manifests, '--data', folders.data, ...listen],
  });
  await program.until('it serves', () => program.listens('Serving') !== undefined);
  expect(program.output()).not.toContain(told);
});
