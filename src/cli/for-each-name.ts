import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { DeclarationError } from './edit/declarations.ts';
import { declarationMessage } from './error-message.ts';
import { type ExitCode, exitCodeOf, exitCodes } from './exit-codes.ts';

/**
 * Does the same for several names, one after the other; one that fails does not stop the others. What failed is said
 * on stderr at once.
 *
 * @throws CommandError at the end when one failed: with its exit code where all failures share it, else `failed`
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
