/** A response's headers, names in lower case. At most 64 KiB together: the parser refuses more. */
export class UpstreamHeaders {
  readonly #fields: Readonly<Record<string, string | readonly string[] | undefined>>;

  /** `fields` is what undici has parsed; values are latin1 text. */
  constructor(fields: Readonly<Record<string, string | readonly string[] | undefined>>) {
    this.#fields = fields;
  }

  /** The value of `name` (lower case); several fields of one name are joined by `, `. */
  get(name: string): string | undefined {
    // A plain object: without the check "constructor" would be a header of every response.
    if (!Object.hasOwn(this.#fields, name)) return undefined;
    const value = this.#fields[name];
    return typeof value === 'string' ? value : value?.join(', ');
  }

  /** Calls `visit` with name and value of every field, each repetition by itself. */
  forEach(visit: (name: string, value: string) => void): void {
    const fields = this.#fields;
    for (const name in fields) {
      const value = fields[name];
      if (typeof value === 'string') visit(name, value);
      else for (const single of value ?? []) visit(name, single);
    }
  }
}
