import type { Log } from '../../observe/log.ts';
import type { PlacedProblem } from './parse-manifest.ts';

/** What a reading of a file has to say, once it is certain that the reading counts. */
export class FileReport {
  readonly #log: Log;
  readonly #file: string;
  readonly #foreign = new Set<string>();
  readonly #problems: object[] = [];

  constructor(log: Log, file: string) {
    this.#log = log;
    this.#file = file;
  }

  foreign(kind: string): void {
    this.#foreign.add(kind);
  }

  problem(document: number, id: string | undefined, problem: PlacedProblem): void {
    const { line, path, value, reason, remedy } = problem;
    this.#problems.push({
      file: this.#file,
      document,
      line,
      ...(id === undefined ? {} : { object: id }),
      field: path,
      // Named `found` because the log hides every field called `value`.
      ...(value === undefined ? {} : { found: value }),
      reason,
      remedy,
    });
  }

  tell(): void {
    for (const problem of this.#problems) this.#log.error(problem, 'A manifest is not valid');
    if (this.#foreign.size === 0) return;
    this.#log.info(
      { file: this.#file, kinds: [...this.#foreign] },
      'Left out objects of kinds that are for a cluster',
    );
  }
}
