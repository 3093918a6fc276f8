import { Readable } from 'node:stream';
import type { CommandContext } from '../../src/cli/context.ts';
import { openPlace } from '../../src/cli/place.ts';
import { exitCodeOfRun } from '../../src/cli/run.ts';
import { systemClock } from '../../src/kube/clock.ts';
import type { CliOptions, CliResult } from './cli.ts';

export interface CapturedContext {
  readonly context: CommandContext;
  stdout(): string;
  stderr(): string;
}

/** What a command has, with its output kept; off a terminal. */
export function capturedContext(
  { input = '', env = {} }: CliOptions,
  calledAs = 'model-gateway',
): CapturedContext {
  let stdout = '';
  let stderr = '';
  const context: CommandContext = {
    calledAs,
    declarations: (flags) => openPlace(flags, env),
    out: {
      write: (text) => {
        stdout += text;
      },
    },
    err: {
      write: (text) => {
        stderr += text;
      },
    },
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    isTerminal: { stdin: false, stdout: false, stderr: false },
    signal: AbortSignal.timeout(60_000),
    clock: systemClock,
    env,
  };
  return { context, stdout: () => stdout, stderr: () => stderr };
}

/** Runs a command for people in this process: for what needs no process of its own, which takes a second each. */
export async function runHere(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const { context, stdout, stderr } = capturedContext(options);
  const code = await exitCodeOfRun(args, context, {});
  return { code, stdout: stdout(), stderr: stderr() };
}
