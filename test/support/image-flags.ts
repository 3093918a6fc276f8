import { readFileSync } from 'node:fs';

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
const [, flags = ''] = /^ENV NODE_OPTIONS="(.*)"$/m.exec(dockerfile) ?? [];
if (flags === '') throw new Error('Dockerfile: no NODE_OPTIONS in it any more');

/** What the image tells Node.js of its collector, where that is measured; without the share of a container's memory. */
export const imageFlags: string = flags
  .split(' ')
  .filter((flag) => !flag.startsWith('--max-old-space-size-percentage='))
  .join(' ');
