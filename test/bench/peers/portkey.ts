import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installedPackages } from '../../support/installed-packages.ts';
import { benchKey } from '../bench-manifests.ts';
import type { Caller } from '../bench-requests.ts';
import type { Lab } from '../lab.ts';
import { freePort, type ProcessUnderTest } from '../process-under-test.ts';

const source = fileURLToPath(new URL('./packages/portkey/', import.meta.url));
const installMs = 300_000;

/** Installs Portkey's gateway from npm as the lock file pins it, hashes and all. @throws with npm's own words */
export async function installPortkey(): Promise<{ folder: string; version: string }> {
  const folder = await installedPackages(source, installMs, (digest) => `bench-peers/portkey-${digest}`);
  const text = await readFile(join(folder, 'node_modules/@portkey-ai/gateway/package.json'), 'utf8');
  return { folder, version: (JSON.parse(text) as { version: string }).version };
}

/** Starts it with the generator's own Node.js, without its page and its log of requests. */
export async function startPortkey(lab: Lab, folder: string): Promise<ProcessUnderTest> {
  const port = await freePort();
  const script = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  return lab.launch({
    ...{ name: 'portkey', port, arguments: [script, `--port=${port}`, '--headless'] },
    ...{ environment: { DO_NOT_TRACK: '1' } },
    ...{ readyURL: `http://127.0.0.1:${port}/`, timeoutMilliseconds: 30_000 },
  });
}

/** How to call it: where a request goes is said in its head, and the key that it brings is the node's. */
export function portkeyCaller(port: number, upstreamPort: number): Caller {
  const headers = [
    'x-portkey-provider: openai',
    `x-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1`,
  ];
  return { port, key: benchKey, headers };
}
