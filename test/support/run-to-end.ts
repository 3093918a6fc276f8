import { spawn } from 'node:child_process';

/** How a program ended and what it printed. */
export interface Ended {
  /** The exit code; -1 when it was killed at its time limit. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program that ends by itself, with nothing but `env` as its environment. Never rejects for one that fails. */
export function runToEnd(
  program: string,
  args: readonly string[],
  options: {
    readonly env: NodeJS.ProcessEnv;
    readonly timeoutMs: number;
    /** Standard input; nothing where absent. */
    readonly input?: string | undefined;
    readonly cwd?: string | undefined;
  },
): Promise<Ended> {
  const { env, timeoutMs, input = '', cwd } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd, timeout: timeoutMs, killSignal: 'SIGKILL' });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    // It may end without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
  });
}
