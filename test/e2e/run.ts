import { spawn } from 'node:child_process';
import process from 'node:process';

const commandMs = 6 * 60_000;

/** Runs a program to its end; answers stdout. @throws with the end of what it wrote when it fails */
export function run(
  command: string,
  args: readonly string[],
  options: { input?: string | undefined; timeoutMs?: number } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: process.env,
      timeout: options.timeoutMs ?? commandMs,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let all = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      all += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      all += text;
    });
    // It may end without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(stdout);
      else
        reject(new Error(`${command} ${args.join(' ')} ended with ${code ?? signal}:\n${all.slice(-3000)}`));
    });
  });
}
