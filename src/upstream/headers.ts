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

  /** Name and value of every field, each repetition by itself. */
  *[Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    for (const [name, value] of Object.entries(this.#fields)) {
      if (typeof value === 'string') yield [name, value];
      else for (const single of value ?? []) yield [name, single];
    }
  }
}
