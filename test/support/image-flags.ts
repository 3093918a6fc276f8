import { readFileSync } from 'node:fs';
import { parseDockerfile } from '../../scripts/dockerfile.ts';

const image = parseDockerfile(readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')).at(-1);
const argsOf = (instruction: string) =>
  image?.instructions.filter(({ name }) => name === instruction).map(({ args }) => args) ?? [];
const [, options = ''] = /^NODE_OPTIONS="(.*)"$/m.exec(argsOf('ENV').join('\n')) ?? [];
if (options === '') throw new Error('Dockerfile: no NODE_OPTIONS in it any more');
const [entrypoint = '[]'] = argsOf('ENTRYPOINT');

/** What the image tells Node.js of its collector in NODE_OPTIONS, where that is measured; without the share of a container's memory. */
export const imageOptions: string = options
  .split(' ')
  .filter((flag) => !flag.startsWith('--max-old-space-size-percentage='))
  .join(' ');

/** What it tells Node.js of it besides, as arguments before the program's: NODE_OPTIONS may not hold these. */
export const imageFlags: readonly string[] = (JSON.parse(entrypoint) as readonly string[]).slice(1, -1);
if (imageFlags.length === 0) throw new Error('Dockerfile: no flags of Node.js in ENTRYPOINT any more');
