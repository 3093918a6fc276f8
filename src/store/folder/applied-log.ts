import type { Log } from '../../observe/log.ts';

type Action = 'created' | 'changed' | 'deleted';

/** The most lines for one look at the folder: copying thousands of files into it must not fill the log. */
const mostLines = 20;

/** Logs what edits of the manifests changed, so that people see that their edit was noticed. Silent until `begin`. */
export class AppliedLog {
  readonly #log: Log;
  readonly #lines: (() => void)[] = [];
  #count = 0;
  #isBegun = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Starts logging: all that is noted from now on is an edit. */
  begin(): void {
    this.#isBegun = true;
  }

  /** Takes that a declaration came into force, or that its object was deleted. `id` is `Kind/namespace/name`. */
  note(id: string, action: Action, file: string | undefined): void {
    this.#add(() => this.#log.info({ object: id, action, file }, 'Applied a manifest'));
  }

  noteDeleted(file: string): void {
    this.#add(() => this.#log.info({ file }, 'A manifest file was deleted'));
  }

  /** Logs what was noted since the last call. */
  tell(): void {
    for (const line of this.#lines.splice(0)) line();
    if (this.#count > mostLines)
      this.#log.info({ changes: this.#count, shown: mostLines }, 'Applied more manifests than are listed');
    this.#count = 0;
  }

  #add(line: () => void): void {
    if (!this.#isBegun) return;
    this.#count += 1;
    if (this.#lines.length < mostLines) this.#lines.push(line);
  }
}
