import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assembleImageTree, type ImageTree } from '../../scripts/image-tree.ts';
import { callerOf } from '../support/caller.ts';
import { type ProgramOptions, startProgram } from '../support/program.ts';
import { keyWithHash, manifest } from '../support/standalone.ts';
import { startUpstream } from '../support/upstream.ts';

// The steps of the Dockerfile, run without Docker. What this cannot prove: that the base images exist under their
// digests, that their Node.js runs this, and that nothing is missing in them.
const isRoot = process.getuid?.() === 0;
let folder: string;
let tree: string;
let image: ImageTree;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'model-gateway-image-test-'));
  // The image's user must reach it.
  chmodSync(folder, 0o755);
  tree = join(folder, 'tree');
  image = assembleImageTree(tree, fileURLToPath(new URL('../../node_modules', import.meta.url)));
  mkdirSync(join(tree, 'nodejs/bin'), { recursive: true });
  cpSync(process.execPath, join(tree, 'nodejs/bin/node'));
  spawnSync('chmod', ['-R', 'a-w', tree]);
});
afterAll(() => {
  spawnSync('chmod', ['-R', 'u+w', tree]);
  rmSync(folder, { recursive: true, force: true });
});

/** The image's own command line, as the image's own user where the test may become another one. */
function inImage(env: Record<string, string> = {}): Pick<ProgramOptions, 'program' | 'under' | 'env'> {
  const [uid, gid] = image.user.split(':');
  const inTree = (word: string) => (word.startsWith('/') ? join(tree, word) : word);
  return {
    under: isRoot ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] : [],
    program: image.entrypoint.map(inTree),
    // A read-only file system has no place for temporary files either.
    env: { ...image.env, TMPDIR: '/nowhere', HOME: '/nowhere', ...env },
  };
}

test('the tree holds the program and its dependencies, and nothing for development', () => {
  expect(readdirSync(tree).sort()).toEqual(['app', 'nodejs']);
  expect(readdirSync(join(tree, 'app')).sort()).toEqual([
    'LICENSE',
    'crds',
    'dist',
    'node_modules',
    'package.json',
  ]);
  for (const name of ['typescript', 'vitest', '@biomejs', 'node', 'openai', 'playwright-core']) {
    expect(existsSync(join(tree, 'app/node_modules', name)), name).toBe(false);
  }
  // The stages run on the processor that builds, for every other one.
  const modules = readdirSync(join(tree, 'app/node_modules'), { recursive: true, encoding: 'utf8' });
  expect(modules.filter((name) => name.endsWith('.node'))).toEqual([]);
  const files = readdirSync(join(tree, 'app/dist'), { recursive: true, encoding: 'utf8' });
  expect(files.filter((name) => /\.(?:ts|map)$|\.test\./.test(name))).toEqual([]);
  // Kubernetes refuses runAsNonRoot where the user is a name.
  expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
});

test('what the program loads is all there', () => {
  const [node = '', ...flags] = image.entrypoint;
  const roles = [
    ['--help'],
    ['controller', '--help'],
    ['gateway', '--help'],
    ['seal', '--help'],
    ['nodes', '--help'],
  ];
  for (const args of roles) {
    const { status, stdout, stderr } = spawnSync(
      join(tree, node),
      [...flags.slice(0, -1), join(tree, flags.at(-1) ?? ''), ...args],
      { encoding: 'utf8', env: {}, timeout: 60_000 },
    );
    expect(`${args.join(' ')}: ${stderr}${status}`).toBe(`${args.join(' ')}: 0`);
    expect(stdout).toContain('Usage');
  }
});

test('standalone answers a request from the tree that it may only read', async () => {
  const manifests = join(folder, 'manifests');
  const data = join(folder, 'data');
  mkdirSync(manifests);
  mkdirSync(data);
  chmodSync(data, 0o777);
  const key = keyWithHash();
  const upstream = await startUpstream({ models: ['m'] });
  await writeFile(join(manifests, 'node.yaml'), manifest('UpstreamNode', 'n', { baseURL: upstream.url }));
  await writeFile(join(manifests, 'key.yaml'), manifest('APIKey', 'k', { hash: key.hash }));
  await using program = startProgram({
    ...inImage(),
    args: ['standalone', '--manifests', manifests, '--data', data].concat(
      ...['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'],
    ),
    cwd: join(tree, image.workdir),
  });
  await program.until('it serves', () => program.listens('Serving') !== undefined);
  const caller = callerOf(`http://${program.listens('Serving')}/v1`, key.text);
  await program.until('the model is known', async () => (await caller.models()).includes('m'));
  const { status, headers } = await caller.chat('m', { stream: true });
  expect([status, headers.get('x-model-gateway-node')]).toEqual([200, 'default/n']);
  expect(program.log().filter(({ level }) => level !== 'info')).toEqual([]);
  expect(await program.stop()).toBe(0);
  await upstream.stop();
});

// `kubectl` and people use kubeconfigs; a pod uses its service account, so the image leaves out the package that reads them.
test('what is in the image is small, and kubeconfigs are refused with the reason', async () => {
  const modules = join(tree, 'app/node_modules');
  const sizes = readdirSync(modules, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(modules, name)))
    .map((entry) => (entry.isFile() ? entry.size : 0));
  // 159 MB with every package whole.
  expect(sizes.reduce((sum, size) => sum + size, 0) / 1e6).toBeLessThan(30);
  expect(existsSync(join(modules, '@kubernetes'))).toBe(false);
  for (const args of [['gateway'], ['nodes']]) {
    await using program = startProgram({
      ...inImage({ KUBECONFIG: '/nowhere/config' }),
      args,
    });
    expect(await program.exited).toBeGreaterThan(0);
    expect(program.output()).toContain(
      'the package @kubernetes/client-node is not installed. The image leaves it out',
    );
  }
});

// A mount namespace of its own gives the process the folder where a pod finds its service account.
test.skipIf(!isRoot || spawnSync('unshare', ['--mount', 'true']).status !== 0)(
  'controller and gateway of the tree get as far as the API server (needs root)',
  async () => {
    const account = '/run/secrets/kubernetes.io/serviceaccount';
    const mounted = [
      'mount -t tmpfs none /run && mkdir -p "$0" && cd "$0"',
      'echo token > token && echo home > namespace && : > ca.crt && cd / && exec "$@"',
    ].join(' && ');
    for (const role of ['controller', 'gateway']) {
      const { under = [], ...start } = inImage({
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: '1',
      });
      await using program = startProgram({
        ...start,
        under: ['unshare', '--mount', 'sh', '-c', mounted, account, ...under],
        args: [role, '--admin-listen', '127.0.0.1:0', '--listen', '127.0.0.1:0'].slice(
          0,
          role === 'gateway' ? undefined : -2,
        ),
      });
      await program.until(
        'the admin port answers',
        () => program.listens('Serving probes and metrics') !== undefined,
      );
      const { status } = await fetch(`http://${program.listens('Serving probes and metrics')}/livez`);
      expect(status).toBe(200);
      await program.until('it asks the API server', () => program.output().includes('ECONNREFUSED'));
      expect(await program.stop()).toBe(0);
    }
  },
);
