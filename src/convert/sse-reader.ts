import { limits } from './limits.ts';
import { SseSplitter } from './sse-splitter.ts';
import { UpstreamFault } from './upstream-fault.ts';

/** One server-sent event. `event` is '' if the stream does not name it; `data` is '' for comments. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
  /** Whether the event has an `id:` line. */
  readonly hasId: boolean;
}

// It removes a byte order mark, and reads bytes that are not UTF-8 as U+FFFD.
const decoder = new TextDecoder();

/** Reads a stream of server-sent events in which every event has data. */
export class SseReader {
  readonly #splitter = new SseSplitter();

  /** The events that are complete with these bytes. Throws an `oversize` fault for an event that is too long. */
  push(bytes: Uint8Array): SseEvent[] {
    const complete = this.#splitter.take(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    if (Math.max(complete.length, this.#splitter.kept) > limits.sseEvent) throw oversize();
    return complete.length === 0 ? [] : eventsIn(complete).filter(hasData);
  }

  /** The stream ended: returns the last event even without its blank line. */
  end(): SseEvent[] {
    return eventsIn(this.#splitter.rest()).filter(hasData);
  }
}

/** The events in bytes that hold complete ones; the blank line after the last may be missing. */
export function eventsIn(bytes: Buffer): SseEvent[] {
  const text = decoder.decode(bytes);
  const hasCr = text.includes('\r');
  // Most pieces of a stream: one event of one line.
  if (!hasCr && text.startsWith('data: {') && text.indexOf('\n') === text.length - 2 && text.endsWith('\n'))
    return [{ event: '', data: text.slice(6, -2), hasId: false }];
  const lines = (hasCr ? text.replace(/\r\n?/g, '\n') : text).split('\n');
  lines.push('');
  const events: SseEvent[] = [];
  let event = '';
  let data: string | undefined;
  let hasId = false;
  let isBegun = false;
  for (const line of lines) {
    if (line !== '') {
      isBegun = true;
      if (line.startsWith('data:'))
        data = data === undefined ? fieldValue(line, 5) : `${data}\n${fieldValue(line, 5)}`;
      else if (line.startsWith('event:')) event = fieldValue(line, 6);
      else if (line.startsWith('id:')) hasId = true;
    } else if (isBegun) {
      events.push({ event, data: data ?? '', hasId });
      event = '';
      data = undefined;
      hasId = false;
      isBegun = false;
    }
  }
  return events;
}

/** The value of a line's field. One space may follow the colon. */
function fieldValue(line: string, afterColon: number): string {
  return line.slice(line[afterColon] === ' ' ? afterColon + 1 : afterColon);
}

function hasData({ data }: SseEvent): boolean {
  return data.trim() !== '';
}

function oversize(): UpstreamFault {
  return new UpstreamFault('oversize', 'The model server sent an event that is too large.');
}
