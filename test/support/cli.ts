import { fileURLToPath } from 'node:url';
import { bareEnvironment } from './bare-environment.ts';
import { type Ended, runToEnd } from './run-to-end.ts';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const longestMs = 60_000;

export interface CliOptions {
  /** Standard input; nothing where absent. */
  readonly input?: string;
  /** Added to `bareEnvironment`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs a command for people as a process of its own, with its input and output piped. Never rejects for a failure. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<Ended> {
  return runProgram(process.execPath, [mainFile, ...args], options);
}

/** The same by a shell: `$MODEL_GATEWAY` stands for the program. */
export function runShell(script: string, options: CliOptions = {}): Promise<Ended> {
  const env = { ...options.env, MODEL_GATEWAY: `${process.execPath} ${mainFile}` };
  // Without --norc bash takes its piped stdin for a network login and reads the user's own settings.
  return runProgram('/bin/bash', ['--norc', '-c', script], { ...options, env });
}

/** Lines of an output, without the last line end. */
export function lines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function runProgram(command: string, args: readonly string[], options: CliOptions): Promise<Ended> {
  const { input, cwd } = options;
  const env = { ...bareEnvironment(), ...options.env };
  return runToEnd(command, args, { env, timeoutMs: longestMs, input, cwd });
}
