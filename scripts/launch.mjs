// Runs a task of this project on the Node.js that the project pins, whatever Node.js (20 or newer) started npm:
//   node scripts/launch.mjs start|test|check|generate|install-yaml|test:unit|test:agents|bench [arguments]
// Installs the dependencies from the lock file first when they are missing or stale. Plain JavaScript without
// dependencies, because it runs before any exist.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(root, 'node_modules');
const pinnedNode = join(modules, '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');
const stampFile = join(modules, '.installed-from');

const tasks = {
  // The console strips the types of its page itself, which Node.js still calls experimental.
  start: ['--disable-warning=ExperimentalWarning', 'src/main.ts'],
  test: ['scripts/test.ts'],
  'test:unit': ['scripts/test.ts', 'unit'],
  check: ['scripts/check.ts'],
  generate: ['scripts/generate.ts'],
  'install-yaml': ['scripts/install-yaml.ts'],
  'test:agents': ['test/agents/main.ts'],
  bench: ['test/bench/main.ts'],
  scale: ['test/scale/main.ts'],
  faults: ['test/faults/main.ts'],
  soak: ['test/soak/main.ts'],
  fuzz: ['test/fuzz/main.ts'],
  build: ['scripts/build.ts'],
  image: ['scripts/image.ts'],
  sbom: ['scripts/sbom.ts'],
  e2e: ['test/e2e/main.ts'],
  'test:delivery': ['scripts/test.ts', 'delivery'],
  'test:telemetry': ['scripts/test.ts', 'telemetry'],
};

const [task = '', ...taskArguments] = process.argv.slice(2);
const script = tasks[task];
if (script === undefined) {
  console.error(`launch: unknown task "${task}"; use one of ${Object.keys(tasks).join(', ')}`);
  process.exit(2);
}
installIfStale();
runTask(script);

function installIfStale() {
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(`${process.platform} ${process.arch}`)
    .digest('hex');
  const installed = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : '';
  if (installed === wanted && existsSync(pinnedNode)) return;
  console.error('Installing dependencies from package-lock.json (about half a minute)…');
  // No package may run a script of its own at installation but `node`, which fetches the Node.js for this machine by it.
  // --include=dev: NODE_ENV=production on the machine would leave that out.
  const steps = [
    ['ci', '--include=dev', '--ignore-scripts'],
    ['rebuild', 'node', '--ignore-scripts=false'],
  ];
  const failed = steps.find((step) => npm(step) !== 0);
  if (failed !== undefined || !existsSync(pinnedNode)) {
    console.error(
      `launch: \`npm ${(failed ?? ['rebuild', 'node']).join(' ')}\` failed; mend what it says above (network, disk, permissions), then run this again.`,
    );
    process.exit(1);
  }
  writeFileSync(stampFile, wanted);
}

function npm(words) {
  const { status } = spawnSync('npm', [...words, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  return status;
}

function runTask(scriptArguments) {
  const child = spawn(pinnedNode, [...scriptArguments, ...taskArguments], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: {
      ...process.env,
      PATH: `${join(modules, '.bin')}${delimiter}${process.env.PATH}`,
      // Halves the start of every process from the second one on: Node.js need not strip the types again.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(modules, '.compile-cache'),
    },
  });
  // Ctrl-C reaches the whole foreground group, so the task stops by itself; a signal sent to npm alone is handed on.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
}
