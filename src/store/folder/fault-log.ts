import { errorCode, errorText } from '../../observe/error-text.ts';
import type { Log } from '../../observe/log.ts';

/** The messages of a fault that every attempt meets until somebody fixes it, such as a full disk. */
interface Words {
  readonly begins: string;
  readonly ends: string;
}

/** Logs such a fault when it begins, when it becomes another one and when it ends, but not at each attempt. */
export class FaultLog {
  readonly #log: Log;
  readonly #words: Words;
  #fault: string | undefined;

  constructor(log: Log, words: Words) {
    this.#log = log;
    this.#words = words;
  }

  failed(error: unknown, fields: Readonly<Record<string, unknown>> = {}): void {
    // Messages may name the temporary file of that attempt.
    const fault = errorCode(error) ?? errorText(error);
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#log.error({ err: error, ...fields }, this.#words.begins);
  }

  worked(fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.#fault === undefined) return;
    this.#fault = undefined;
    this.#log.info(fields, this.#words.ends);
  }
}
