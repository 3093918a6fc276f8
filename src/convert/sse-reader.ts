import { limits } from './limits.ts';
import { UpstreamFault } from './upstream-fault.ts';

/** One server-sent event with data; `event` is '' if the stream names none. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

/** A line that is not complete yet ends at the next of these. */
const lineEnd = /[\r\n]/g;

/** For pieces that begin and end between characters: it costs half of a stateful decoder. */
const wholeDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Reads server-sent events: one stateful UTF-8 decoder, so that a character cut in
 * two stays whole; lines end with LF, CRLF or CR; comments, ids and events without data are passed over. Each character
 * is looked at once, however the stream is cut.
 */
export class SseReader {
  // A byte order mark at the start is removed by the decoder; bad bytes become U+FFFD.
  readonly #decoder = new TextDecoder('utf-8');
  /** Whether the bytes so far end between two characters. */
  #between = false;
  #line = '';
  #afterCr = false;
  #event = '';
  #data: string[] = [];
  #dataLength = 0;

  /** The events that are complete with these bytes. Throws an `oversize` fault for a line or an event that is too long. */
  push(bytes: Uint8Array): SseEvent[] {
    return this.#read(this.#decode(bytes));
  }

  /** The stream ended: returns the last event even without its blank line. */
  end(): SseEvent[] {
    const events = this.#read(`${this.#decoder.decode()}\n`);
    this.#dispatch(events);
    return events;
  }

  #decode(bytes: Uint8Array): string {
    const last = bytes.at(-1);
    if (last === undefined) return '';
    const wasBetween = this.#between;
    this.#between = last < 0x80;
    return wasBetween && this.#between
      ? wholeDecoder.decode(bytes)
      : this.#decoder.decode(bytes, { stream: true });
  }

  #read(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    let from = 0;
    if (this.#afterCr && text !== '') {
      this.#afterCr = false;
      if (text.startsWith('\n')) from = 1;
    }
    lineEnd.lastIndex = from;
    for (let end = lineEnd.exec(text); end !== null; end = lineEnd.exec(text)) {
      const at = end.index;
      this.#takeLine(this.#line + text.slice(from, at), events);
      this.#line = '';
      from = at + 1;
      if (text[at] === '\r' && from === text.length) this.#afterCr = true;
      else if (text[at] === '\r' && text[from] === '\n') from += 1;
      lineEnd.lastIndex = from;
    }
    if (from < text.length) this.#line += text.slice(from);
    if (this.#line.length > limits.sseLine) throw oversize();
    return events;
  }

  #takeLine(line: string, events: SseEvent[]): void {
    if (line === '') {
      this.#dispatch(events);
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    if (field !== 'data' && field !== 'event') return;
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') {
      this.#event = value;
      return;
    }
    this.#dataLength += value.length + 1;
    if (this.#dataLength > limits.sseEvent) throw oversize();
    this.#data.push(value);
  }

  #dispatch(events: SseEvent[]): void {
    const data = this.#data.length === 1 ? (this.#data[0] ?? '') : this.#data.join('\n');
    if (data.trim() !== '') events.push({ event: this.#event, data });
    this.#event = '';
    this.#data = [];
    this.#dataLength = 0;
  }
}

function oversize(): UpstreamFault {
  return new UpstreamFault('oversize', 'The model server sent an event that is too large.');
}
