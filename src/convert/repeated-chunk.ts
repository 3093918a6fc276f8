const content = '"content"';

/** After this many different chunks it stops learning: some nodes write something else into each chunk, such as padding. */
const mostLearnt = 8;

/**
 * Recognises chunks that differ from the chunk before only by their text, as most chunks of most streams do. If everything
 * around one JSON string is the same, only this string has to be parsed. Parsing and reading the whole chunk would take four
 * times as long.
 */
export class RepeatedChunk {
  #before = '';
  #after = '';
  #learnt = 0;

  /** The text of a chunk that is otherwise like the one that was learnt; undefined if it is not. */
  textOf(json: string): string | undefined {
    const { length: start } = this.#before;
    const stop = json.length - this.#after.length;
    // A string has at least its two quotes.
    if (start === 0 || stop - start < 2) return undefined;
    if (json.slice(0, start) !== this.#before || json.slice(stop) !== this.#after) return undefined;
    try {
      const text: unknown = JSON.parse(json.slice(start, stop));
      return typeof text === 'string' ? text : undefined;
    } catch {
      // There is more than one string between the equal parts.
      return undefined;
    }
  }

  /** Learns a chunk of which `text`, its only `content`, is all that was read. */
  learn(json: string, text: string): void {
    if (this.#learnt === mostLearnt) return;
    this.#learnt += 1;
    const key = json.indexOf(content);
    const colon = key + content.length;
    const start = json.indexOf('"', colon);
    const stop = start + text.length + 2;
    // Without a backslash, and with one member of this name, there is one place where the text can be.
    const isAlone = key !== -1 && json.lastIndexOf(content) === key && !json.includes('\\');
    if (!isAlone || json.slice(colon, start).trim() !== ':' || json.slice(start, stop) !== `"${text}"`)
      return;
    this.#before = json.slice(0, start);
    this.#after = json.slice(stop);
  }

  /** Forgets what was learnt: another chunk came. */
  forget(): void {
    this.#before = '';
  }
}
