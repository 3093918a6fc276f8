/** One server-sent event. `data` is latin1 text of the bytes. */
export interface SseEvent {
  readonly name: string;
  readonly data: string;
  /** Whether the event had an `id:` line. */
  readonly hasId: boolean;
}

/**
 * Splits the beginning of a stream into events. Bytes are read as latin1, so that a character that is cut between two
 * pieces does no harm. A comment gives an event without data.
 */
export class SseEvents {
  /** The incomplete event. Its parts are joined when it ends: a text that grows would be copied with each piece. */
  #parts: string[] = [];
  /** Its last characters: the end of the event may be cut between two pieces. */
  #tail = '';
  #begun = false;

  /** The events that are complete with this piece. */
  take(piece: Buffer): SseEvent[] {
    const text = this.#begun ? piece.toString('latin1') : this.#begin(piece);
    const seen = this.#tail.length;
    const shown = this.#tail + text;
    const events: SseEvent[] = [];
    let from = 0;
    for (const end of shown.matchAll(eventEnd)) {
      const block = shown.slice(from, end.index);
      events.push(readEvent(from === 0 ? this.#takeParts(seen) + block : block));
      from = end.index + end[0].length;
    }
    if (from === 0) this.#parts.push(text);
    else this.#parts = [shown.slice(from)];
    this.#tail = shown.slice(Math.max(from, shown.length - longestCutEnd));
    return events;
  }

  /** Without the byte order mark that may stand at the beginning of a stream. */
  #begin(piece: Buffer): string {
    const text = this.#takeParts(0) + piece.toString('latin1');
    this.#tail = '';
    if (byteOrderMark.startsWith(text)) return text;
    this.#begun = true;
    return text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text;
  }

  /** What is kept, without its last `less` characters. */
  #takeParts(less: number): string {
    const kept = this.#parts.join('');
    this.#parts = [];
    return less === 0 ? kept : kept.slice(0, -less);
  }
}

/** An LF, CR or CRLF, and the beginning of a second one. */
const longestCutEnd = 3;
const byteOrderMark = '\u00ef\u00bb\u00bf';
const eventEnd = /(?:\r\n|\n|\r(?!\n|$)){2,}/g;

/** The events in bytes that hold complete ones; the blank line after the last may be missing. */
export function eventsIn(bytes: Buffer): SseEvent[] {
  return new SseEvents().take(Buffer.concat([bytes, blankLine]));
}

const blankLine = Buffer.from('\n\n');

function readEvent(block: string): SseEvent {
  let name = '';
  let hasId = false;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const field = line.slice(0, colon);
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') name = value;
    else if (field === 'id') hasId = true;
  }
  return { name, data: data.join('\n'), hasId };
}
