// `npm run build`: dist/, as the image and the npm package hold it. JavaScript by tsc and the console's other files; no
// source maps, because the sources are not beside them.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const outDir = process.argv[2] ?? join(root, 'dist');
const page = join(root, 'src/console/page');

// What else lies there, such as the manifest made of the chart, is not ours to remove.
for (const entry of existsSync(outDir) ? readdirSync(outDir, { withFileTypes: true }) : []) {
  if (entry.isDirectory() || entry.name.endsWith('.js'))
    rmSync(join(outDir, entry.name), { recursive: true });
}
compile(['-p', join(root, 'tsconfig.build.json'), '--outDir', outDir]);
if (existsSync(page)) {
  compile(['-p', page, '--noEmit', 'false', '--rootDir', join(root, 'src'), '--outDir', outDir]);
}
for (const entry of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
  if (!['.html', '.css', '.svg'].includes(extname(entry))) continue;
  mkdirSync(dirname(join(outDir, entry)), { recursive: true });
  cpSync(join(root, 'src', entry), join(outDir, entry));
}
for (const name of readdirSync(join(outDir, 'bin'))) chmodSync(join(outDir, 'bin', name), 0o755);

function compile(args: readonly string[]): void {
  const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
  const { status } = spawnSync(process.execPath, [tsc, ...args], { stdio: 'inherit', cwd: root });
  if (status !== 0) {
    console.error('build: tsc found the errors above; mend them (npm run check shows them too).');
    process.exit(1);
  }
}
