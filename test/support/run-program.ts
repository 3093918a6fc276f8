import { spawn } from 'node:child_process';
import process from 'node:process';

/**
 * Runs a program of the machine, in this process's own environment but for npm's, to its end (default: 5 minutes at most)
 * and answers what it printed. @throws with the end of its output when it fails
 */
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
      timeout: options.timeoutMs ?? 300_000,
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
