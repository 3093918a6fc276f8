import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const longestMs = 60_000;

export interface CliResult {
  /** The exit code; -1 when it was killed after a minute. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  /** Standard input; nothing where absent. */
  readonly input?: string;
  /** Added to `PATH`: nothing of the user's own settings reaches it. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs a command for people as a process of its own, with its input and output piped. Never rejects for a failure. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runProgram(process.execPath, [mainFile, ...args], options);
}

/** The same by a shell: `$MODEL_GATEWAY` stands for the program. */
export function runShell(script: string, options: CliOptions = {}): Promise<CliResult> {
  const env = { ...options.env, MODEL_GATEWAY: `${process.execPath} ${mainFile}` };
  // Without --norc bash takes its piped stdin for a network login and reads the user's own settings.
  return runProgram('/bin/bash', ['--norc', '-c', script], { ...options, env });
}

/** Lines of an output, without the last line end. */
export function lines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function runProgram(command: string, args: readonly string[], options: CliOptions): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { PATH: process.env['PATH'], ...options.env },
      timeout: longestMs,
      killSignal: 'SIGKILL',
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
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
    child.stdin.end(options.input ?? '');
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
  });
}
