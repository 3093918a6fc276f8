import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

const digits = 16;

/**
 * The number of commits of a state file, in a small file beside it. The state file holds the same number, so that a lower one
 * there shows that commits were lost: its log was cut or removed, which SQLite takes for a log without commits.
 *
 * Written after each commit, and not forced to disk: after a loss of power it may be too low, never too high.
 */
export class CommitCount {
  /** The number that the file held when it was opened; undefined if there was none. */
  readonly before: number | undefined;
  readonly #file: number;

  /** Makes the file if it is missing. @throws the system's error */
  constructor(path: string) {
    this.before = numberIn(path);
    this.#file = openSync(path, this.before === undefined ? 'w' : 'r+', 0o600);
  }

  /** Never throws: a number that is too low only makes the next check weaker. */
  write(count: number): void {
    try {
      writeSync(this.#file, `${`${count}`.padStart(digits)}\n`, 0);
    } catch {
      // A full disk, for example; the next commit writes a higher number.
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

function numberIn(path: string): number | undefined {
  try {
    const text = readFileSync(path, 'utf8').trim();
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  } catch {
    // There is none, or it is none of ours.
    return undefined;
  }
}
