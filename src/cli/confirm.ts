import { createInterface } from 'node:readline/promises';
import { CommandError, usageError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { exitCodes } from './exit-codes.ts';

/**
 * Asks a yes-or-no question on a terminal; anything but `y` or `yes` is a no.
 *
 * @throws CommandError `usage` without a terminal, with the flag that answers in advance; `failed` for a no
 */
export async function confirm(
  context: Pick<CommandContext, 'stdin' | 'err' | 'isTerminal' | 'signal'>,
  question: string,
  flag = '--yes',
): Promise<void> {
  if (!context.isTerminal.stdin) {
    throw usageError(`${question} There is no terminal to answer on: add ${flag} to do it.`);
  }
  context.err.write(`${question} [y/N] `);
  const lines = createInterface({ input: context.stdin, signal: context.signal });
  try {
    const line = await Promise.race([
      lines.question(''),
      new Promise<string>((resolve) => lines.once('close', () => resolve(''))),
    ]);
    if (/^y(es)?$/i.test(line.trim())) return;
  } finally {
    lines.close();
  }
  throw new CommandError(exitCodes.failed, 'nothing was changed.');
}
