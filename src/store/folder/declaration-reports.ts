import type { Log } from '../../observe/log.ts';
import type { Problem } from '../../resources/problem.ts';
import type { Declaration } from './declarations.ts';
import type { FoundProblem } from './manifest-problems.ts';

/** Says that a declaration is not put into force, because the object may not change in that way. */
export function reportRefusal(
  log: Log,
  declaration: Declaration,
  problems: readonly Problem[],
): readonly FoundProblem[] {
  const { file, document, line, id } = declaration;
  return problems.map(({ path, reason, remedy }) => {
    const problem = { file, document, line, object: id, field: path, reason, remedy };
    log.error(problem, 'A manifest is not valid; the last good version of the object stays in force');
    return { scope: 'object', ...problem };
  });
}

/** Says which version of an object is in force while its declaration is not valid. */
export function reportKept(log: Log, { file, document, line, id }: Declaration, generation: number): void {
  const remedy = `correct it; until then generation ${generation} stays in force`;
  log.warn(
    { file, document, line, object: id, generation, remedy },
    'The last good version of an object stays in force',
  );
}

/** Says that what a file held before the start stays in force, because it cannot be read now. */
export function reportKeptFile(log: Log, file: string, objects: number): void {
  log.warn(
    { file, objects, remedy: 'correct it; until then they stay in force' },
    'A manifest file cannot be read; what it held before this start stays in force',
  );
}

/** Says that an object is declared that was made through the gateway or by the controller. */
export function reportStored(log: Log, { file, document, line, id }: Declaration): FoundProblem {
  const reason = 'exists in the data folder already, and that one stays in force';
  const remedy = 'give the declared one another name';
  const problem = { file, document, line, object: id, reason, remedy };
  log.error(problem, 'A manifest declares what exists already');
  return { scope: 'object', ...problem };
}

/** Says which declarations of an object are not in force because another comes first. */
export function reportRepeats(
  log: Log,
  first: Declaration,
  others: readonly Declaration[],
): readonly FoundProblem[] {
  return others.map(({ file, document, line, id }) => {
    const reason = `is declared already by ${first.file}, document ${first.document}, line ${first.line}, which stays in force`;
    const remedy = 'remove one of the two, or give it another name';
    const problem = { file, document, line, object: id, field: 'metadata.name', reason, remedy };
    log.error(problem, 'A manifest declares what another declares');
    return { scope: 'object', ...problem };
  });
}

/** Says which declarations of an object are not in force because an earlier file, which cannot be read, has it. */
export function reportBehindKept(
  log: Log,
  kept: string,
  declarations: readonly Declaration[],
): readonly FoundProblem[] {
  return declarations.map(({ file, document, line, id }) => {
    const reason = `is declared already by ${kept}, which cannot be read and whose last good version stays in force`;
    const remedy = `correct ${kept}, or delete it`;
    const problem = { file, document, line, object: id, field: 'metadata.name', reason, remedy };
    log.error(problem, 'A manifest declares what another declares');
    return { scope: 'object', ...problem };
  });
}
