import { readFileSync } from 'node:fs';

const dockerfile = new URL('../../Dockerfile', import.meta.url);
const [found] = /--max-semi-space-size=\d+/.exec(readFileSync(dockerfile, 'utf8')) ?? [];
if (found === undefined) throw new Error('Dockerfile: NODE_OPTIONS does not bound young objects any more');

/** What the image tells Node.js about its heap, where that is measured; without the share of a container's memory. */
export const imageFlags: string = found;
