import { installLiteLLM } from './litellm.ts';
import { installNginx } from './nginx.ts';
import { installPortkey } from './portkey.ts';

/** A proxy that can be started from a folder, or why there is none. */
export type Found = { readonly folder: string; readonly version: string } | { readonly missing: string };

/** What there is to measure beside. */
export interface Installed {
  readonly nginx: Found;
  readonly portkey: Found;
  readonly litellm: Found;
}

/** Without any of them, as for a look at the bench itself. */
export const noPeers: Installed = {
  nginx: { missing: 'left out' },
  portkey: { missing: 'left out' },
  litellm: { missing: 'left out' },
};

/** Installs what is missing into the user's cache folder, from package registries alone; never throws. */
export async function installPeers(): Promise<Installed> {
  return {
    nginx: await found(installNginx),
    portkey: await found(installPortkey),
    litellm: await found(installLiteLLM),
  };
}

async function found(install: () => Promise<{ folder: string; version: string }>): Promise<Found> {
  try {
    return await install();
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error) };
  }
}
