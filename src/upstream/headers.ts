/** A response's headers, names in lower case. At most 64 KiB together: longer heads are refused. */
export class UpstreamHeaders {
  readonly #flat: readonly string[];

  /** `flat` has names in lower case and values, in turns; values are latin1 text. */
  constructor(flat: readonly string[]) {
    this.#flat = flat;
  }

  /** The value of `name` (lower case); several fields of one name are joined by `, `. */
  get(name: string): string | undefined {
    const flat = this.#flat;
    let value: string | undefined;
    for (let at = 0; at < flat.length; at += 2) {
      if (flat[at] === name) value = value === undefined ? flat[at + 1] : `${value}, ${flat[at + 1]}`;
    }
    return value;
  }

  /** Whether the body is in a content-encoding, although nobody asked for one. */
  get isEncoded(): boolean {
    const encoding = this.get('content-encoding');
    return encoding !== undefined && !/^\s*(?:identity\s*)?$/i.test(encoding);
  }

  /** Calls `visit` with name and value of every field, each repetition by itself. */
  forEach(visit: (name: string, value: string) => void): void {
    const flat = this.#flat;
    for (let at = 0; at < flat.length; at += 2) visit(flat[at] ?? '', flat[at + 1] ?? '');
  }
}
