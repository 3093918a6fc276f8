import type { Log } from '../../observe/log.ts';
import { timestampOf } from './identity-maker.ts';
import { jsonValue } from './json-value.ts';
import type { StateFile } from './state-file.ts';

/** Why something that a manifest says is not in force. Safe to show: it quotes nothing of the text. */
export interface FoundProblem {
  /** What is not in force: all of a file, one document, or an object whose document is valid by itself. */
  readonly scope: 'file' | 'document' | 'object';
  /** Relative to the folder of manifests; empty for the folder itself. */
  readonly file: string;
  /** Position of the document in the file, from 1. */
  readonly document?: number | undefined;
  /** Line of the file, from 1. */
  readonly line?: number | undefined;
  /** `Kind/namespace/name`, if the document says at least that. */
  readonly object?: string | undefined;
  /** Such as `spec.priority`; empty for the document itself. */
  readonly field?: string | undefined;
  /** What is wrong, as a sentence that follows the field's name. */
  readonly reason: string;
  readonly remedy: string;
}

export interface ManifestProblem extends FoundProblem {
  /** When the running process saw it first, in RFC 3339; undefined if no process has. */
  readonly since: string | undefined;
}

/** How many files, documents and objects are not in force. */
export type ProblemCounts = Readonly<Record<FoundProblem['scope'], number>>;

/** The setting of the state file that holds the problems. */
export const problemsSetting = 'manifest-problems';
/** Most problems that are kept for people; the counts are exact all the same. */
const mostKept = 1_000;

/**
 * Which declarations are not in force, and since when. They are kept in the state file, so that commands and the console
 * show them, and so that a problem keeps its time over a restart.
 */
export class ManifestProblems {
  readonly #state: StateFile;
  readonly #log: Log;
  readonly #now: () => number;
  #current: readonly ManifestProblem[] = [];
  #counts: ProblemCounts = { file: 0, document: 0, object: 0 };

  /** `now` in milliseconds since 1970. */
  constructor(state: StateFile, log: Log, now: () => number) {
    this.#state = state;
    this.#log = log;
    this.#now = now;
    // Since when problems of the last run exist.
    this.#current = problemsIn(state.get('setting', problemsSetting));
  }

  /** At most 1,000, in the order in which they were found. */
  get current(): readonly ManifestProblem[] {
    return this.#current;
  }

  get counts(): ProblemCounts {
    return this.#counts;
  }

  /**
   * Replaces the problems. `holds` says whether a file exists and could be read. Settles when they are in the data folder;
   * if that cannot be written, it is logged.
   */
  async replace(found: Iterable<FoundProblem>, holds: (file: string) => boolean): Promise<void> {
    const known = new Map(this.#current.map((problem) => [keyOf(problem), problem.since]));
    const now = timestampOf(this.#now());
    const current: ManifestProblem[] = [];
    const subjects = { file: new Set<string>(), document: new Set<string>(), object: new Set<string>() };
    for (const problem of found) {
      const { scope, file, document, object } = problem;
      subjects[scope].add(scope === 'object' ? `${object}` : `${file} ${document ?? ''}`);
      if (current.length < mostKept) current.push({ ...problem, since: known.get(keyOf(problem)) ?? now });
    }
    this.#counts = {
      file: subjects.file.size,
      document: subjects.document.size,
      object: subjects.object.size,
    };
    const before = textOf(this.#current);
    this.#tellFixed(current, holds);
    this.#current = current;
    const text = textOf(current);
    if (text === before) return;
    await this.#state
      .write([{ table: 'setting', id: problemsSetting, text }])
      .catch((error: unknown) =>
        this.#log.error(
          { err: error },
          'The problems of the manifests could not be written to the data folder',
        ),
      );
  }

  #tellFixed(current: readonly ManifestProblem[], holds: (file: string) => boolean): void {
    const bad = new Set(current.map(({ file }) => file));
    for (const file of new Set(this.#current.map((problem) => problem.file))) {
      if (!bad.has(file) && holds(file)) this.#log.info({ file }, 'A manifest file is valid again');
    }
  }
}

/** The problems that the state file holds; none if they are missing or damaged. */
export function problemsIn(text: string | undefined): readonly ManifestProblem[] {
  if (text === undefined) return [];
  const problems = jsonValue(text);
  return Array.isArray(problems) ? (problems as ManifestProblem[]) : [];
}

/** Identifies a problem over time: its line may move. */
export function keyOf({ scope, file, object, field, reason }: FoundProblem): string {
  return JSON.stringify([scope, file, object ?? '', field ?? '', reason]);
}

/** A problem on one line, as people read it: `demo.yaml:8 (document 1): spec.priority must be at most 100; lower it`. */
export function problemText({ file, document, line, object, field, reason, remedy }: FoundProblem): string {
  const place = `${file === '' ? 'the folder of manifests' : file}${line === undefined ? '' : `:${line}`}`;
  const within = document === undefined ? '' : ` (document ${document})`;
  const about = [object, field].filter((part) => part !== undefined && part !== '').join(' ');
  return `${place}${within}: ${about === '' ? '' : `${about} `}${reason}; ${remedy}`;
}

function textOf(problems: readonly ManifestProblem[]): string {
  return JSON.stringify(problems);
}
