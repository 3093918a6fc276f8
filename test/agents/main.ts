// `npm run test:agents`: coding agents, as npm and PyPI have them, each finish a task through the gateway on a node
// that knows chat-completions alone. The first run downloads them into the user's cache folder.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { walled } from '../support/wall.ts';
import { installAgents } from './installed-agents.ts';

/** How long all tasks may take; each bounds its own. */
const allMs = 600_000;

const scratch = await mkdtemp(join(tmpdir(), 'model-gateway-agents-'));
try {
  const agents = JSON.stringify(await installAgents());
  const only = process.argv.slice(2);
  const command = [process.execPath, fileURLToPath(new URL('./tasks.ts', import.meta.url)), agents, ...only];
  process.exitCode = await run(walled(command) ?? command);
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  console.log(`FAILED  the agents could not be installed\n        ${reason}\n\n0 passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await rm(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

function run([program = '', ...args]: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, TMPDIR: scratch } });
    const kill = () => child.kill('SIGKILL');
    const timer = setTimeout(kill, allMs);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, kill);
    child.on('error', () => resolve(1));
    child.on('close', (code) => {
      clearTimeout(timer);
      if (code === null) console.log('FAILED  the tasks took too long, or were ended\n\n0 passed, 1 failed');
      resolve(code ?? 1);
    });
  });
}
