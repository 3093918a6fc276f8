import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { DeclarationError } from './edit/declarations.ts';
import { declarationMessage } from './error-message.ts';
import { type ExitCode, exitCodeOf, exitCodes } from './exit-codes.ts';

/**
 * Runs the same for several names, one after the other. A name that fails is reported on stderr at once, and the others
 * follow.
 *
 * @throws CommandError at the end if a name failed: with the exit code that all failures share, else `failed`
 */
export async function forEachName(
  context: Pick<CommandContext, 'err' | 'signal' | 'calledAs'>,
  names: readonly string[],
  run: (name: string) => Promise<void>,
): Promise<void> {
  const codes = new Set<ExitCode>();
  for (const name of new Set(names)) {
    try {
      await run(name);
    } catch (error) {
      if (context.signal.aborted) throw error;
      if (error instanceof DeclarationError) codes.add(exitCodeOf(error.reason));
      else if (error instanceof CommandError) codes.add(error.exitCode);
      else throw error;
      context.err.write(`${context.calledAs}: ${name}: ${declarationMessage(error)}\n`);
    }
  }
  const [code, ...others] = codes;
  if (code !== undefined) throw new CommandError(others.length === 0 ? code : exitCodes.failed, '');
}
