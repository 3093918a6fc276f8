import { connect, type Socket } from 'node:net';
import { dataLine, ResponseReader } from './response-reader.ts';

/** What a right answer looks like. */
export interface Expected {
  bodyBytes?: number;
  dataLines?: number;
  /** The lines that count, as the line end before one and its first bytes; all `data:` lines where absent. */
  marker?: Buffer;
}

/** Receives what happens on a connection. */
export interface LoadEvents {
  /** An answer is complete; `fault` says what is wrong with it. */
  onAnswer: (connection: LoadConnection, fault: string | undefined) => void;
  /** `data:` lines arrived in the answer under way: how many there are now. */
  onLines?: (connection: LoadConnection, lines: number) => void;
  onClose: (connection: LoadConnection, reason: string) => void;
}

// One buffer serves all connections: it is used up within the call that fills it.
const shared = Buffer.allocUnsafe(256 * 1024);

/** One keep-alive connection of the load generator, with one request under way at a time. */
export class LoadConnection {
  readonly number: number;
  readonly ready: Promise<void>;
  startTime = 0;
  #socket: Socket;
  #reader = new ResponseReader();
  #expected: Expected = {};

  constructor(number: number, port: number, events: LoadEvents) {
    this.number = number;
    const onread = {
      buffer: shared,
      callback: (length: number) => {
        this.#receive(shared.subarray(0, length), events);
        return true;
      },
    };
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
    this.ready = new Promise((resolve, reject) => {
      this.#socket.once('connect', resolve);
      this.#socket.once('error', reject);
    });
    this.#socket.on('error', (error) => events.onClose(this, error.message));
    this.#socket.once('end', () => events.onClose(this, 'closed by the server'));
  }

  send(request: Buffer, expected: Expected): void {
    this.#expected = expected;
    this.#reader.marker = expected.marker ?? dataLine;
    this.startTime = performance.now();
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.removeAllListeners('end');
    this.#socket.destroy();
  }

  #receive(bytes: Buffer, events: LoadEvents): void {
    if (this.#socket.destroyed) return;
    const reader = this.#reader;
    const linesBefore = reader.dataLines;
    let complete: boolean;
    try {
      complete = reader.read(bytes);
    } catch (error) {
      events.onClose(this, String(error));
      return;
    }
    if (complete) events.onAnswer(this, this.#fault());
    else if (reader.dataLines > 0 && reader.dataLines !== linesBefore)
      events.onLines?.(this, reader.dataLines);
  }

  #fault(): string | undefined {
    const { status, bodyBytes, dataLines } = this.#reader;
    const { bodyBytes: wantedBytes = bodyBytes, dataLines: wantedLines = dataLines } = this.#expected;
    if (status === 200 && bodyBytes === wantedBytes && dataLines === wantedLines) return undefined;
    return `status ${status}, ${bodyBytes} bytes (${wantedBytes} expected), ${dataLines} data lines (${wantedLines} expected)`;
  }
}
