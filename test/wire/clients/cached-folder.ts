import { spawn } from 'node:child_process';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { withExclusiveLock } from '../../support/control-plane-lock.ts';

/** How long an install may take: the largest download is about 60 MB. */
const installMs = 300_000;

/**
 * The folder `name` in this project's cache of clients; when it is missing, `fill` makes it, whole or not at all.
 * Test files run side by side, so others wait for the first. @throws what `fill` throws
 */
export async function cachedFolder(
  name: string,
  fill: (staging: string) => Promise<unknown>,
): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'model-gateway', 'clients', name);
  if (await exists(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const install = async () => {
    if (await exists(folder)) return;
    console.error(`clients: installing ${name} into the user's cache folder…`);
    const staging = `${folder}.installing`;
    await rm(staging, { recursive: true, force: true });
    await mkdir(staging);
    await fill(staging);
    await rename(staging, folder);
  };
  await withExclusiveLock(`${folder}.lock`, installMs + 60_000, () => {}, install);
  return folder;
}

/** Runs a program to its end and answers what it printed. @throws with the end of its output when it fails */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly timeoutMs?: number } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: { ...outsideOfNpm(), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
      timeout: options.timeoutMs ?? installMs,
    });
    let printed = '';
    let said = '';
    child.stdout.on('data', (bytes: Buffer) => {
      printed += bytes.toString();
    });
    child.stderr.on('data', (bytes: Buffer) => {
      said = (said + bytes.toString()).slice(-2000);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(printed);
      else
        reject(
          new Error(`${program} ${args[0]} ended with ${code ?? signal}: ${said || printed.slice(-2000)}`),
        );
    });
  });
}

/** `npm run` tells where this project is, which would send the packages there. */
function outsideOfNpm(): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(
    ([name]) => !/^npm_config_(local_|global_)?prefix$/i.test(name),
  );
  return Object.fromEntries(ours);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
