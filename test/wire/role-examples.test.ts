import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { roleExamples } from '../../src/roles/flags.ts';
import { runShell } from '../support/cli.ts';
import { startProgram } from '../support/program.ts';

// Runs the examples at the end of each role's `--help` as they are written. Those for a cluster run until they need one.
// In this order, because `seal --data` reads a file that standalone writes into its data folder.
/** Nobody has the key to it. */
const recipient = 'age1wdqynks8rfezd37dr0p9dxpxfqwawts9susgqt8xu92yf0pdqges56nrg9';
let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'model-gateway-role-examples-'));
  await mkdir(join(cwd, 'manifests'));
  await writeFile(join(cwd, 'key'), 'sk-test\n');
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

test.each([...roleExamples.standalone, ...roleExamples.start])('%s', async (example) => {
  const free = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', '--log-format', 'json'];
  await using program = startProgram({ args: [...example.split(' '), ...free], cwd });
  await program.until('it serves', () => program.listens('Serving') !== undefined);
  expect(await program.stop('SIGTERM')).toBe(0);
});

test.each([...roleExamples.controller, ...roleExamples.gateway, ...roleExamples.seal])(
  '%s',
  async (example) => {
    const env = { KUBECONFIG: join(cwd, 'nothing') };
    const { code, stdout, stderr } = await runShell(`$MODEL_GATEWAY ${example}`, { cwd, env });
    if (example.includes('--data data')) {
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain('BEGIN AGE ENCRYPTED FILE');
      return;
    }
    // Wrong usage would be 2.
    expect([code, stderr]).toEqual([1, expect.stringMatching(/nothing|tls\.crt/)]);
  },
);

test('kubectl modelgateway seals, and serves nothing', async () => {
  const plugin = join(cwd, 'kubectl-modelgateway.ts');
  await symlink(fileURLToPath(new URL('../../src/main.ts', import.meta.url)), plugin);
  const run = (args: string) => runShell(`"${process.execPath}" ${plugin} ${args}`, { cwd });
  const sealed = await run(`seal --recipient ${recipient} --name a --base-url https://a.example/v1 < key`);
  expect([sealed.code, sealed.stderr]).toEqual([0, '']);
  expect(sealed.stdout).toContain('BEGIN AGE ENCRYPTED FILE');
  expect((await run('--help')).stdout).toMatch(/^Usage: kubectl modelgateway COMMAND[\s\S]*^ {2}seal /m);
  expect((await run('seal --help')).stdout).toMatch(/^Usage: kubectl modelgateway seal /);
  expect((await run('seal')).stderr).toMatch(/^kubectl modelgateway: --name is missing/);
  expect(await run('gateway')).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown command') });
});
