/** A response's headers, names in lower case, 64 KiB at most: longer heads are refused. */
export class UpstreamHeaders {
  readonly #flat: readonly string[];

  /** `flat` alternates names in lower case and values; values are latin1 text. */
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

  /** Whether the body has a content-encoding, although the request accepts none. */
  get isEncoded(): boolean {
    const encoding = this.get('content-encoding');
    return encoding !== undefined && !/^\s*(?:identity\s*)?$/i.test(encoding);
  }

  /** Calls `visit` with the name and value of every field; a repeated field is visited each time. */
  forEach(visit: (name: string, value: string) => void): void {
    const flat = this.#flat;
    for (let at = 0; at < flat.length; at += 2) visit(flat[at] ?? '', flat[at + 1] ?? '');
  }
}
