import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { installedPackages } from '../support/installed-packages.ts';

/** How long npm may take for one agent; each is a download of about 100 MB, and 400 MB on disk. */
const installMs = 600_000;

/** An agent's npm package, pinned with the hashes of all that it brings by a lock file in `packages/<folder>`. */
export interface AgentPackage {
  readonly folder: 'codex' | 'claude-code' | 'opencode' | 'cline';
  /** The script to run with Node.js, or the program, below `node_modules`. */
  readonly script: string;
}

export const codexPackage: AgentPackage = { folder: 'codex', script: '@openai/codex/bin/codex.js' };

/** Its own launcher for installs whose scripts were not run: it starts the binary of the platform's package. */
export const claudeCodePackage: AgentPackage = {
  folder: 'claude-code',
  script: '@anthropic-ai/claude-code/cli-wrapper.cjs',
};

/** The package of the binary, because that of the launcher needs a script at installation. For Linux on x64. */
export const opencodePackage: AgentPackage = {
  folder: 'opencode',
  script: 'opencode-linux-x64-baseline/bin/opencode',
};

/** The package of the binary, because that of the launcher brings 200 more. For Linux on x64. */
export const clinePackage: AgentPackage = {
  folder: 'cline',
  script: '@cline/cli-linux-x64/bin/cline',
};

/**
 * Installs an agent into the user's cache folder, unless it is there, and answers the path of its script. No script of
 * any package runs. Throws with npm's own words when it cannot be had.
 */
export async function installAgent({ folder, script }: AgentPackage): Promise<string> {
  const source = fileURLToPath(new URL(`./packages/${folder}/`, import.meta.url));
  const name = (digest: string) => `agents/${folder}-${digest}-${process.platform}-${process.arch}`;
  const packages = await installedPackages(source, installMs, name).catch((error: unknown) => {
    throw new Error(`${folder}: see to the network and npm's registry.\n${String(error)}`);
  });
  const installed = join(packages, 'node_modules', script);
  await access(installed).catch(() => {
    throw new Error(`npm installed no ${script}`);
  });
  return installed;
}

/** The version that is pinned. */
export async function pinnedVersion({ folder }: AgentPackage): Promise<string> {
  const text = await readFile(new URL(`./packages/${folder}/package.json`, import.meta.url), 'utf8');
  const { dependencies } = JSON.parse(text) as { dependencies: Readonly<Record<string, string>> };
  return Object.values(dependencies)[0] ?? '';
}
