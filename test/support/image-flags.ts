import { readFileSync } from 'node:fs';

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
const [, options = ''] = /^ENV NODE_OPTIONS="(.*)"$/m.exec(dockerfile) ?? [];
if (options === '') throw new Error('Dockerfile: no NODE_OPTIONS in it any more');
const [, entrypoint = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile) ?? [];

/** What the image tells Node.js of its collector in NODE_OPTIONS, where that is measured; without the share of a container's memory. */
export const imageOptions: string = options
  .split(' ')
  .filter((flag) => !flag.startsWith('--max-old-space-size-percentage='))
  .join(' ');

/** What it tells Node.js of it besides, as arguments before the program's: NODE_OPTIONS may not hold these. */
export const imageFlags: readonly string[] = (JSON.parse(entrypoint) as readonly string[]).slice(1, -1);
if (imageFlags.length === 0) throw new Error('Dockerfile: no flags of Node.js in ENTRYPOINT any more');
