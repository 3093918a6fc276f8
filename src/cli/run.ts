import process from 'node:process';
import { type Command, CommanderError } from 'commander';
import { systemClock } from '../kube/clock.ts';
import { errorText } from '../observe/error-text.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { DeclarationError } from './edit/declarations.ts';
import { declarationMessage } from './error-message.ts';
import { type ExitCode, exitCodeOf, exitCodes } from './exit-codes.ts';
import { hintedCommands } from './hinted-commands.ts';
import { openPlace } from './place.ts';
import { buildProgram, type Entry } from './program.ts';
import { ourSpelling } from './spellings.ts';
import { usageMessage } from './usage-message.ts';

/** How long a command may take to end after Ctrl-C, before the process exits. */
const graceMs = 2_000;

/**
 * Runs one command for people with this process's own input and output, and ends the process with its exit code.
 *
 * @param args the arguments after the program's name
 * @param calledAs the program's name, for messages
 * @param roles the commands that are not run here, for the help and for completion
 * @param more commands of folders that may import this one
 */
export async function runCommand(
  args: readonly string[],
  calledAs: string,
  roles: Readonly<Record<string, Entry>>,
  more: Readonly<Record<string, Entry>>,
): Promise<never> {
  const { stdin, stdout, stderr, env } = process;
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    const code = name === 'SIGINT' ? exitCodes.interrupted : 143;
    process.once(name, () => {
      stop.abort(new CommandError(exitCodes.interrupted, ''));
      process.once(name, () => process.exit(code));
      setTimeout(() => process.exit(code), graceMs).unref();
    });
  }
  // `| head` has read enough: this is no failure, and there is nothing left to do.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? exitCodes.done : exitCodes.failed);
  });
  stderr.on('error', () => {});
  const context: CommandContext = {
    calledAs,
    declarations: (flags) => openPlace(flags, env),
    out: stdout,
    err: stderr,
    stdin,
    isTerminal: {
      stdin: stdin.isTTY === true,
      stdout: stdout.isTTY === true,
      stderr: stderr.isTTY === true,
    },
    signal: stop.signal,
    clock: systemClock,
    env,
  };
  const code = await exitCodeOfRun(args, context, roles, more);
  // A pipe may take the last bytes after the command has ended.
  await new Promise((resolve) => stdout.write('', resolve));
  process.exit(code);
}

/** Runs one command, and reports on `context.err` what failed. Never throws. */
export async function exitCodeOfRun(
  typed: readonly string[],
  context: CommandContext,
  roles: Readonly<Record<string, Entry>>,
  more: Readonly<Record<string, Entry>> = {},
): Promise<ExitCode> {
  const args = ourSpelling(typed);
  let program: Command | undefined;
  try {
    if (args[0] === '__complete') {
      const { complete } = await import('./completion/complete.ts');
      await complete(args.slice(1), context, (asked, words) =>
        buildProgram(asked, words, roles, false, more),
      );
      return exitCodes.done;
    }
    program = await buildProgram(context, args, roles, false, more);
    await program.parseAsync([...args], { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    if (context.signal.aborted) return exitCodes.interrupted;
    const { code, message } = judged(error, namedCommands(program, args), context.calledAs);
    if (message !== '') context.err.write(`${message}\n`);
    return code;
  }
}

/** The commands that the arguments name, outermost first: `node` and its `add`. */
function namedCommands(program: Command | undefined, args: readonly string[]): readonly Command[] {
  const named: Command[] = [];
  let command = program;
  for (const word of args) {
    command = command?.commands.find((each) => each.name() === word);
    if (command === undefined) break;
    named.push(command);
  }
  return named;
}

function judged(
  error: unknown,
  named: readonly Command[],
  calledAs: string,
): { readonly code: ExitCode; readonly message: string } {
  if (error instanceof CommandError) {
    return { code: error.exitCode, message: error.message && `${calledAs}: ${error.message}` };
  }
  if (error instanceof DeclarationError) {
    const said = hintedCommands(declarationMessage(error), named.at(-1)?.opts() ?? {});
    return { code: exitCodeOf(error.reason), message: `${calledAs}: ${said}` };
  }
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return { code: exitCodes.done, message: '' };
    // A group without a command: its help was printed on stderr.
    if (error.code === 'commander.help') return { code: exitCodes.usage, message: '' };
    const words = error.code === 'commander.unknownCommand' ? [] : named.map((command) => command.name());
    const message = usageMessage(error, [calledAs, ...words].join(' '));
    return { code: exitCodes.usage, message: `${calledAs}: ${message}` };
  }
  return {
    code: exitCodes.failed,
    message: `${calledAs}: ${errorText(error)}`,
  };
}
