import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** How long npm may take for one agent; each is a download of about 100 MB. */
const installMs = 600_000;

const prefixName = /^npm_config_(local_|global_)?prefix$/i;

/** An agent's npm package, pinned with the hashes of all that it brings by a lock file in `packages/<folder>`. */
export interface AgentPackage {
  readonly folder: 'codex' | 'claude-code';
  /** The script to run with Node.js, below `node_modules`. */
  readonly script: string;
}

export const codexPackage: AgentPackage = { folder: 'codex', script: '@openai/codex/bin/codex.js' };

/** Its own launcher for installs whose scripts were not run: it starts the binary of the platform's package. */
export const claudeCodePackage: AgentPackage = {
  folder: 'claude-code',
  script: '@anthropic-ai/claude-code/cli-wrapper.cjs',
};

/**
 * Installs an agent into the user's cache folder, unless it is there, and answers the path of its script. No script of
 * any package runs. Throws with npm's own words when it cannot be had.
 */
export async function installAgent({ folder, script }: AgentPackage): Promise<string> {
  const source = fileURLToPath(new URL(`./packages/${folder}/`, import.meta.url));
  const lock = await readFile(join(source, 'package-lock.json'));
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const place = join(
    cache,
    'model-gateway',
    'agents',
    `${folder}-${version}-${process.platform}-${process.arch}`,
  );
  const installed = join(place, 'node_modules', script);
  if (await exists(installed)) return installed;

  console.log(`Installing ${folder} into ${place} (about 400 MB)…`);
  // Whole or not at all, also where two runs install at once.
  const staging = `${place}.${process.pid}`;
  try {
    await mkdir(staging, { recursive: true });
    for (const file of ['package.json', 'package-lock.json'])
      await copyFile(join(source, file), join(staging, file));
    await npmInstall(staging).catch((error: unknown) => {
      throw new Error(`${folder}: see to the network and npm's registry.\n${String(error)}`);
    });
    if (!(await exists(join(staging, 'node_modules', script)))) throw new Error(`npm installed no ${script}`);
    await rename(staging, place).catch(async (error: unknown) => {
      if (!(await exists(installed))) throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return installed;
}

/** The version that is pinned. */
export async function pinnedVersion({ folder }: AgentPackage): Promise<string> {
  const text = await readFile(new URL(`./packages/${folder}/package.json`, import.meta.url), 'utf8');
  const { dependencies } = JSON.parse(text) as { dependencies: Readonly<Record<string, string>> };
  return Object.values(dependencies)[0] ?? '';
}

function npmInstall(folder: string): Promise<void> {
  const args = [
    'ci',
    '--ignore-scripts',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  return new Promise((resolve, reject) => {
    const npm = spawn('npm', args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
      timeout: installMs,
      // `npm run` tells where this project is, which would send the packages there.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !prefixName.test(name))),
    });
    let output = '';
    for (const stream of [npm.stdout, npm.stderr])
      stream.on('data', (bytes: Buffer) => {
        output = (output + bytes.toString()).slice(-2000);
      });
    npm.on('error', reject);
    npm.on('close', (code) =>
      code === 0
        ? resolve()
        : reject(new Error(`npm ${args.join(' ')} ended with ${code}:\n${output.trim()}`)),
    );
  });
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
