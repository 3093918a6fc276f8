import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { oneLine } from '../table.ts';
import { type Suggestions, suggestions } from './suggestions.ts';

/** Longest time that a shell waits for names of a cluster. */
const longestMs = 5_000;
/** More would not help, and slow the shell down. */
const mostOffered = 2_000;

/** The last line, for kubectl and the scripts of `completion`: whether to offer files too. */
const directives = { files: ':0', noFiles: ':4' };

/**
 * The hidden command `__complete [--] WORDS...`: prints the completions of the last word, each as a line `value<TAB>help`,
 * then the directive. Names that cannot be read are left out, because a shell cannot show errors.
 */
export async function complete(
  args: readonly string[],
  context: CommandContext,
  build: (context: CommandContext, words: readonly string[]) => Promise<Command>,
): Promise<void> {
  // The scripts put `--` before the words; kubectl does not. A single `--` is the word itself.
  const words = args[0] === '--' && args.length > 1 ? args.slice(1) : args;
  const asked = { ...context, signal: AbortSignal.any([context.signal, AbortSignal.timeout(longestMs)]) };
  const none: Suggestions = { found: [], files: false };
  const { found, files } = await suggestions(await build(asked, words), words, asked).catch(() => none);
  for (const { value, help } of found.slice(0, mostOffered)) {
    // A name with control characters is not offered.
    if (oneLine(value) !== value) continue;
    context.out.write(help === '' ? `${value}\n` : `${value}\t${oneLine(help)}\n`);
  }
  context.out.write(`${files ? directives.files : directives.noFiles}\n`);
}
