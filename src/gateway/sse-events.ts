/** One server-sent event. `data` is latin1 text of the bytes. */
export interface SseEvent {
  readonly name: string;
  readonly data: string;
  /** Whether the event had an `id:` line. */
  readonly hasId: boolean;
}

/**
 * Splits the beginning of a stream into events. Bytes are read as latin1, so that
 * a character cut in two between pieces does no harm. Comments give an event without data.
 */
export class SseEvents {
  #rest = '';
  #begun = false;

  /** The events that are complete with this piece. */
  take(piece: Buffer): SseEvent[] {
    let text = this.#rest + piece.toString('latin1');
    // Of an event that is cut in many pieces only what is new is looked at, and the line end that may be cut in two.
    const seen = Math.max(this.#rest.length - 3, 0);
    if (!this.#begun && text.length >= 3) {
      this.#begun = true;
      if (text.startsWith(byteOrderMark)) text = text.slice(3);
    }
    const events: SseEvent[] = [];
    let from = 0;
    eventEnd.lastIndex = Math.min(seen, text.length);
    for (let end = eventEnd.exec(text); end !== null; end = eventEnd.exec(text)) {
      events.push(readEvent(text.slice(from, end.index)));
      from = end.index + end[0].length;
    }
    this.#rest = text.slice(from);
    return events;
  }
}

const byteOrderMark = '\u00ef\u00bb\u00bf';
const eventEnd = /(?:\r\n|\n|\r(?!\n|$)){2,}/g;

/** All events of bytes that hold whole ones; of the last one the blank line may be missing. */
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
