import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runProgram } from '../support/run-program.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const rows = ['added-latency', 'requests', 'converted-requests', 'streamed-chunks', 'open-streams'];

test('npm run bench -- --peers measures every row, checks every answer, and writes its table', async () => {
  const only = rows.flatMap((row) => ['--only', row]);
  const printed = await runProgram(process.execPath, ['test/bench/main.ts', '--peers', '--check', ...only], {
    ...{ cwd: root, timeoutMs: 55_000 },
  });
  expect(printed).toMatch(/^\d+ met, 0 short/m);
  const { results } = JSON.parse(await readFile(`${root}test/bench/results/check.json`, 'utf8')) as {
    results: { row: string; measured: string }[];
  };
  expect([...new Set(results.map(({ row }) => row))]).toEqual(rows);
  for (const { measured } of results) expect(measured).toMatch(/^-?\d/);
});
