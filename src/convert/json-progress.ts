import { limits } from './limits.ts';

/** `empty`: only white space so far. `partial`: a beginning of a JSON object. `complete`, `invalid`: nothing changes that. */
export type Progress = 'empty' | 'partial' | 'complete' | 'invalid';

type Expect = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'commaOrEnd';

const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const space = /[\t\n\r ]/;
const scalarPart = /[-+.\w]/;
const hex = /[\da-fA-F]/;
/** What ends a run of plain characters in a string. Control characters do because JSON does not allow them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const stringMark = /["\\\u0000-\u001f]/g;

/**
 * Decides, piece by piece, whether text is a complete JSON object. It reads each character once and keeps none: tool
 * arguments may be a megabyte in thousands of pieces, and must be known to be valid before a stream ends.
 */
export class JsonProgress {
  state: Progress = 'empty';
  readonly #open: ('{' | '[')[] = [];
  #expect: Expect = 'value';
  #inString = false;
  #stringIsKey = false;
  /** Inside a string: -1 after a backslash, else hex digits still to come of a \u escape. */
  #escape = 0;
  #scalar = '';

  /** Takes the next piece; returns how many of its characters belong to the object. */
  take(text: string): number {
    for (let at = 0; at < text.length; at++) {
      if (this.state === 'complete') return at;
      if (this.state === 'invalid') return text.length;
      if (this.#inString && this.#escape === 0) {
        // Long arguments are mostly text: a run of plain characters is skipped in one step.
        stringMark.lastIndex = at;
        const mark = stringMark.exec(text);
        if (mark === null) return text.length;
        at = mark.index;
      }
      const c = text.charAt(at);
      if (this.#inString) this.#string(c);
      else this.#outside(c);
    }
    return text.length;
  }

  #string(c: string): void {
    if (this.#escape < 0) this.#escaped(c);
    else if (this.#escape > 0) {
      if (!hex.test(c)) this.state = 'invalid';
      this.#escape -= 1;
    } else if (c === '\\') this.#escape = -1;
    else if (c === '"') {
      this.#inString = false;
      this.#expect = this.#stringIsKey ? 'colon' : 'commaOrEnd';
    } else if (c < ' ') this.state = 'invalid';
  }

  #escaped(c: string): void {
    this.#escape = c === 'u' ? 4 : 0;
    if (!'"\\/bfnrtu'.includes(c)) this.state = 'invalid';
  }

  #outside(c: string): void {
    if (scalarPart.test(c)) {
      // No tool call has longer numbers. Without a bound a number of any length would stay in memory.
      if (this.state === 'empty' || !this.#expectsValue() || this.#scalar.length > 400)
        this.state = 'invalid';
      this.#scalar += c;
      return;
    }
    if (this.#scalar !== '') this.#endScalar();
    if (this.state === 'invalid' || space.test(c)) return;
    if (c === '"') this.#startString();
    else if (c === '{' || c === '[') this.#openLevel(c);
    else if (c === '}' || c === ']') this.#closeLevel(c);
    else if (c === ',' && this.#expect === 'commaOrEnd')
      this.#expect = this.#open.at(-1) === '{' ? 'key' : 'value';
    else if (c === ':' && this.#expect === 'colon') this.#expect = 'value';
    else this.state = 'invalid';
  }

  #expectsValue(): boolean {
    return this.#expect === 'value' || this.#expect === 'valueOrEnd';
  }

  #endScalar(): void {
    if (!scalar.test(this.#scalar)) this.state = 'invalid';
    this.#scalar = '';
    this.#expect = 'commaOrEnd';
  }

  #startString(): void {
    this.#stringIsKey = this.#expect === 'key' || this.#expect === 'keyOrEnd';
    if (this.state === 'empty' || !(this.#stringIsKey || this.#expectsValue())) this.state = 'invalid';
    this.#inString = true;
  }

  #openLevel(c: '{' | '['): void {
    const first = this.state === 'empty';
    if (!this.#expectsValue() || (first && c === '[') || this.#open.length >= limits.nesting)
      this.state = 'invalid';
    else this.state = 'partial';
    this.#open.push(c);
    this.#expect = c === '{' ? 'keyOrEnd' : 'valueOrEnd';
  }

  #closeLevel(c: '}' | ']'): void {
    const mayEnd = this.#expect === 'commaOrEnd' || this.#expect === (c === '}' ? 'keyOrEnd' : 'valueOrEnd');
    if (!mayEnd || this.#open.pop() !== (c === '}' ? '{' : '[')) this.state = 'invalid';
    else if (this.#open.length === 0) this.state = 'complete';
    this.#expect = 'commaOrEnd';
  }
}
