// `npm run test:agents`: Codex CLI and Claude Code, as npm has them, each finish a task through the gateway on a node
// that knows chat-completions alone. The first run downloads them into the user's cache folder.
import { spawn } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { claudeCodePackage, codexPackage, installAgent } from './install-agent.ts';
import { walled } from './wall.ts';

/** How long all tasks may take; each bounds its own. */
const allMs = 300_000;

try {
  const scripts = [await installAgent(codexPackage), await installAgent(claudeCodePackage)];
  const command = [process.execPath, fileURLToPath(new URL('./tasks.ts', import.meta.url)), ...scripts];
  const [plain = '', ...plainArgs] = command;
  const { command: program, args } = walled(command) ?? { command: plain, args: plainArgs };
  process.exitCode = await run(program, args);
} catch (error) {
  console.log(
    `FAILED  the agents could not be installed\n        ${error instanceof Error ? error.message : String(error)}`,
  );
  console.log('\n0 passed, 1 failed');
  process.exitCode = 1;
}

function run(program: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'inherit' });
    const timer = setTimeout(() => child.kill('SIGKILL'), allMs);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void child.kill(signal));
    child.on('error', () => resolve(1));
    child.on('close', (code) => {
      clearTimeout(timer);
      if (code === null)
        console.log('FAILED  the tasks were ended from outside, or took too long\n\n0 passed, 1 failed');
      resolve(code ?? 1);
    });
  });
}
