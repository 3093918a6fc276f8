import { InvalidArgumentError } from 'commander';

/** Option parser for names that are separated by commas, or given one flag each. */
export function names(text: string, before: readonly string[] = []): readonly string[] {
  const given = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (given.length === 0) throw new InvalidArgumentError('Give at least one name.');
  return [...new Set([...before, ...given])];
}
