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

  /** The events that are complete with this piece. */
  take(piece: Buffer): SseEvent[] {
    const text = this.#rest + piece.toString('latin1');
    const events: SseEvent[] = [];
    let from = 0;
    for (const end of text.matchAll(/(?:\r\n|\n|\r(?!\n|$)){2,}/g)) {
      events.push(readEvent(text.slice(from, end.index)));
      from = end.index + end[0].length;
    }
    this.#rest = text.slice(from);
    return events;
  }
}

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
