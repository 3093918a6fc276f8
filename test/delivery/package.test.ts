import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startProgram } from '../support/program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const oldestNode = '22.19.0';
const env = { ...process.env, npm_config_prefer_offline: 'true', npm_config_loglevel: 'error' };

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let packed: Packed;
let installed: string;

function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', args, { cwd, env, encoding: 'utf8', timeout: 280_000 });
}

/** Where a package of the npm registry with that Node.js in it keeps its program. */
function oldNode(): string {
  const place = join(folder, 'old-node');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), '{"private":true,"allowScripts":{"node":true}}');
  npm(['install', '--no-audit', '--no-fund', `node@${oldestNode}`], place);
  return join(place, 'node_modules/node/bin');
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'model-gateway-package-'));
  const told = npm(['pack', '--json', '--pack-destination', folder], root);
  packed = (JSON.parse(told.slice(told.indexOf('[\n'))) as [Packed])[0];
  // As its users do: into an empty folder, from the registry.
  installed = join(folder, 'installed');
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), '{"private":true}');
  npm(['install', '--omit=dev', '--no-audit', '--no-fund', join(folder, packed.filename)], installed);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the package holds the program and the definitions, and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  const expected =
    /^(?:LICENSE|README\.md|package\.json|crds\/[a-z]+\.yaml|crds\/README\.md|dist\/.+\.(?:js|html|css|svg))$/;
  expect(paths.filter((path) => !expected.test(path))).toEqual([]);
  expect(paths.filter((path) => /(?:^|\/)(?:test|scripts)\//.test(path))).toEqual([]);
  for (const path of ['dist/main.js', 'dist/bin/model-gateway.js', 'crds/upstreamnodes.yaml']) {
    expect(paths).toContain(path);
  }
  const secret = /mg[km]_[0-9A-Za-z]{49}|AGE-SECRET-KEY-1[0-9A-Z]{30}|PRIVATE KEY-----\s+[0-9A-Za-z+/]{30}/;
  for (const path of paths) {
    const text = readFileSync(join(installed, 'node_modules/model-gateway', path), 'utf8');
    expect(text, path).not.toMatch(secret);
    expect(text, path).not.toMatch(/^\/\/# sourceMappingURL/m);
    if (path.endsWith('.js')) expect(text, path).not.toMatch(/from '\.[^']*\.ts'/);
  }
});

describe.each([
  ['the pinned Node.js', () => dirname(process.execPath)],
  [`Node.js ${oldestNode}, the oldest one`, oldNode],
])('on %s', (_name, findNode) => {
  let path: string;
  beforeAll(() => {
    path = `${findNode()}${delimiter}${process.env['PATH']}`;
  });

  const run = (command: string, ...args: string[]): string =>
    execFileSync(command, args, {
      cwd: installed,
      env: { PATH: `${join(installed, 'node_modules/.bin')}${delimiter}${path}`, HOME: folder },
      encoding: 'utf8',
      timeout: 60_000,
    });

  test('the three commands answer', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(run('npx', '--no-install', 'model-gateway', '--version')).toBe(`model-gateway ${version}\n`);
    expect(run('kubectl-modelgateway', '--help')).toMatch(/^Usage: kubectl modelgateway /);
    // kubectl asks this for `kubectl modelgateway no<TAB>`.
    expect(run('kubectl_complete-modelgateway', 'no')).toMatch(/^nodes?\b/m);
  });

  test('npx model-gateway starts, and the command that it prints is answered', async () => {
    const place = mkdtempSync(join(folder, 'quick-start-'));
    await using program = startProgram({
      program: [join(installed, 'node_modules/.bin/model-gateway')],
      args: ['start', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'],
      cwd: place,
      // As npx sets it.
      env: { PATH: path, npm_command: 'exec' },
    });
    const command = () => /^curl .*$/m.exec(program.stdout())?.[0];
    await program.until('it prints a command', () => command() !== undefined, 60_000);
    expect(program.output()).not.toContain('Warning');
    expect(program.stdout()).toContain('Another `npx model-gateway` keeps everything');
    const page = `http://${program.listens('Serving the console')}/page/main.js`;
    expect(await (await fetch(page)).text()).toMatch(/^import .* from '\.\/[a-z-]+\.js';$/m);
    const answer = execFileSync('sh', ['-c', `${command()} -sS`], { encoding: 'utf8', timeout: 30_000 });
    expect(answer.trim().split('\n').at(-1)).toBe('data: [DONE]');
    expect(await program.stop()).toBe(0);
  });
});
