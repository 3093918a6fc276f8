// `npm run image`: builds the image with Docker, as releases do. `npm run image -- --tag NAME:TAG` names it;
// `--push` builds for amd64 and arm64 and pushes, with provenance and SBOM attached, and prints the digest.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { dockerMissing } from './docker-missing.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const { tag, push, source } = parseArgs({
  options: {
    tag: { type: 'string', default: `model-gateway:${version}` },
    push: { type: 'boolean', default: false },
    source: { type: 'string', default: '' },
  },
}).values;

const missing = dockerMissing('buildx');
if (missing !== undefined) {
  console.error(`image: ${missing}`);
  console.error('image: the same steps run without Docker by: node scripts/image-tree.ts FOLDER');
  process.exit(1);
}
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const scratch = mkdtempSync(join(tmpdir(), 'model-gateway-image-'));
const metadata = join(scratch, 'metadata.json');
const { status } = spawnSync(
  'docker',
  [
    ...['buildx', 'build', '--tag', tag, '--metadata-file', metadata],
    ...['--build-arg', `VERSION=${version}`, '--build-arg', `REVISION=${git('rev-parse', 'HEAD')}`],
    ...['--build-arg', `SOURCE=${source}`],
    ...(push
      ? [
          ...['--platform', 'linux/amd64,linux/arm64', '--provenance=mode=max', '--sbom=true'],
          // The same commit gives the same layers, whenever they are built.
          ...['--output', 'type=image,push=true,rewrite-timestamp=true'],
        ]
      : ['--load']),
    '.',
  ],
  {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, SOURCE_DATE_EPOCH: git('log', '-1', '--format=%ct') },
  },
);
if (status === 0) {
  const made = JSON.parse(readFileSync(metadata, 'utf8')) as { 'containerimage.digest'?: string };
  console.log(push ? (made['containerimage.digest'] ?? '') : `Built ${tag}`);
} else {
  console.error(`image: docker buildx ended with ${status}; its last lines say why.`);
  process.exitCode = 1;
}
rmSync(scratch, { recursive: true, force: true });
