/** `JSON.rawJSON` of ECMAScript 2026; the types of TypeScript do not have it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/**
 * A number of a JSON text that a double would change, as it was written: 9223372036854775807, 1e400, -0, 1.0.
 * `JSON.stringify` writes it back.
 */
export class WrittenNumber {
  readonly written: string;

  constructor(written: string) {
    this.written = written;
  }

  toJSON(): unknown {
    return rawJSON(this.written);
  }
}

/**
 * Numbers that may not survive: with an exponent, a zero at the end of the fraction or many at its start, 16 digits or
 * more, or `-0`. The character before distinguishes them from most texts without reading strings; a text that looks like such
 * a number only costs time.
 */
const doubtful = /[:,[]\s*(?:-0\s*[,\]}]|-?\d[\d.]{15}|-?\d+(?:\.\d*0\s*[,\]}]|(?:\.\d+)?[eE]|\.0{6}))/;

/** `JSON.parse`, except that numbers that a double would change become a WrittenNumber. Throws SyntaxError. */
export function parseAsWritten(text: string): unknown {
  return doubtful.test(text) ? JSON.parse(text, asWritten) : JSON.parse(text);
}

function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  return JSON.stringify(value) === context.source ? value : new WrittenNumber(context.source);
}
