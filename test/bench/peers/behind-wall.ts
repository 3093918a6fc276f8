import { spawn, spawnSync } from 'node:child_process';
import process from 'node:process';
import { walled } from '../../support/wall.ts';
import { type Installed, installPeers } from './installed.ts';

const installedEnv = 'MODEL_GATEWAY_BENCH_PEERS';
/** Open files that 8,000 streams need: each is two connections, in the gateway and in the generator. */
const openFiles = 20_000;

/**
 * Installs the peers unless they are given, then runs this very command again in a network that has nothing but loopback, where the machine
 * offers one. Answers its exit code, or undefined when this process is to do the work itself.
 */
export async function behindWall(given?: Installed): Promise<number | undefined> {
  if (process.env[installedEnv] !== undefined) return undefined;
  const installed = given ?? (await installPeers());
  process.env[installedEnv] = JSON.stringify(installed);
  const script = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const raise = `[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge ${openFiles} ] || ulimit -n ${openFiles} 2>/dev/null; exec "$0" "$@"`;
  const command = ['sh', '-c', raise, ...(walled(script, { ownProc: true }) ?? script)];
  return new Promise((resolve) => {
    const [program = '', ...args] = command;
    const child = spawn(program, args, { stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => child.kill('SIGTERM'));
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** What the process before this one has installed. */
export function installedPeers(): Installed | undefined {
  const text = process.env[installedEnv];
  return text === undefined ? undefined : (JSON.parse(text) as Installed);
}

/** How many files a process may have open. */
export function openFilesLimit(): number {
  const { stdout } = spawnSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' });
  return stdout.trim() === 'unlimited' ? Number.POSITIVE_INFINITY : Number(stdout);
}
