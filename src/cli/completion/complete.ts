import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { oneLine } from '../table.ts';
import { type Suggestions, suggestions } from './suggestions.ts';

/** Longest time that a shell waits for names of a cluster. */
const longestMs = 5_000;
/** More are of no use to anybody, and slow shells down. */
const mostOffered = 2_000;

/** What kubectl and the scripts of `completion` read in the last line: offer files too, or not. */
const directives = { files: ':0', noFiles: ':4' };

/**
 * The hidden `__complete [--] WORDS...`: prints what may stand for the last word, a line each, `value<TAB>help`, then the
 * directive. What cannot be read is not offered: a shell has no place for errors.
 */
export async function complete(
  args: readonly string[],
  context: CommandContext,
  build: (context: CommandContext, words: readonly string[]) => Promise<Command>,
): Promise<void> {
  // The scripts put it before the words; kubectl does not, and a lone one is the word itself.
  const words = args[0] === '--' && args.length > 1 ? args.slice(1) : args;
  const asked = { ...context, signal: AbortSignal.any([context.signal, AbortSignal.timeout(longestMs)]) };
  const none: Suggestions = { found: [], files: false };
  const { found, files } = await suggestions(await build(asked, words), words, asked).catch(() => none);
  for (const { value, help } of found.slice(0, mostOffered)) {
    // A name that a terminal would take for a command is not offered.
    if (oneLine(value) !== value) continue;
    context.out.write(help === '' ? `${value}\n` : `${value}\t${oneLine(help)}\n`);
  }
  context.out.write(`${files ? directives.files : directives.noFiles}\n`);
}
