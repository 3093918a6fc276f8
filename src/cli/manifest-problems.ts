import { problemText } from '../store/folder/manifest-problems.ts';
import { ago } from './ago.ts';
import type { CommandContext } from './context.ts';
import type { Declarations } from './edit/declarations.ts';

/** Most problems that a list warns of; `check` reports all. */
const mostListed = 5;

/** The sentence for an empty list. It mentions files that are not wholly in force, because they may declare what is missing. */
export async function noneFound(place: Declarations, sentence: string): Promise<string> {
  if ((await place.dataProblem?.()) !== undefined)
    return `${sentence}; the data folder cannot be read, see the warning.`;
  const files = new Set((await place.manifestProblems()).map(({ file }) => file)).size;
  if (files === 0) return `${sentence}.`;
  return `${sentence}; ${files === 1 ? '1 manifest file is' : `${files} manifest files are`} not wholly in force, see the warning.`;
}

/** Warns on stderr about declarations of a folder that are not in force, and about an unreadable data folder. */
export async function warnOfManifests(context: CommandContext, place: Declarations): Promise<void> {
  const fault = await place.dataProblem?.();
  if (fault !== undefined) context.err.write(`Warning: ${fault}\n`);
  const problems = await place.manifestProblems();
  if (problems.length === 0) return;
  const now = context.clock.wall();
  for (const problem of problems.slice(0, mostListed)) {
    const since = problem.since === undefined ? '' : ` (since ${ago(problem.since, now)})`;
    context.err.write(`Warning: not in force${since}: ${problemText(problem)}\n`);
  }
  const more = problems.length - mostListed;
  if (more > 0)
    context.err.write(
      `Warning: and ${more} more problems of manifests; run ${context.calledAs} check on the folder.\n`,
    );
}
