import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { type Standalone, type StandaloneOptions, startStandalone } from '../support/standalone.ts';

/** A standalone process that serves its console, and addresses of it that nobody has opened. */
export interface StandaloneWithConsole extends Standalone {
  /** A fresh address, good for one browser. */
  newAddress(): Promise<string>;
  /** The text of a manifest file as it stands. */
  manifest(file: string): Promise<string>;
}

export async function startWithConsole(options: StandaloneOptions = {}): Promise<StandaloneWithConsole> {
  const standalone = await startStandalone({ ...options, console: true });
  const file = join(standalone.folders.data, 'console-address');
  const used = new Set<string>();
  return {
    ...standalone,
    manifest: (name) => readFile(join(standalone.folders.manifests, name), 'utf8'),
    async newAddress() {
      let address = '';
      await eventually('an address of the console', async () => {
        address = (await readFile(file, 'utf8').catch(() => '')).trim();
        return address !== '' && !used.has(address);
      });
      used.add(address);
      return address;
    },
  };
}
