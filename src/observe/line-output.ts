import { writeSync } from 'node:fs';
import process from 'node:process';

/** Where the lines of the log and of the access log go, in one order. Neither call throws, or waits for the reader. */
export interface LineOutput {
  /** Writes a line now, behind those that wait. */
  write(line: string): void;
  /** Writes a line together with others, a quarter of a second later at the latest. */
  writeLater(line: string): void;
  /** Writes what waits, and gives a reader that is behind one second for it: at the end of the process. */
  end(): void;
}

export interface LineOutputOptions {
  /** Answers how many of the bytes were written; throws an error with the code EAGAIN if the reader has no room now. */
  readonly take: (bytes: Buffer) => number;
  /** Called for lines that are dropped. */
  readonly onDropped: (lines: number) => void;
  /** Everything that waited is written again, after `dropped` lines were not. */
  readonly onRecovered: (dropped: number) => void;
}

/** A call of the system for each line costs as much as the line. */
const pieceLength = 8 * 1024;
const latestMs = 250;
const retryMs = 20;
const lastTries = 50;
/** What may wait for a reader, in characters. The process's own log has as much again as the access log. */
const mostWaiting = 2 * 1024 * 1024;
const mostWaitingLater = 1024 * 1024;
const lineFeed = 0x0a;
const nothing = Buffer.alloc(0);

/**
 * Writes lines, and keeps those that the reader has no room for until it has; beyond a bound they are dropped. A write that
 * waits for the reader would stop every stream of the process for as long as a log driver stands still. (sonic-boom either
 * sleeps then, or waits in one of libuv's four threads, which name look-ups and bodies need.)
 */
export function createLineOutput({ take, onDropped, onRecovered }: LineOutputOptions): LineOutput {
  let lines: string[] = [];
  /** The length of `lines` together. */
  let length = 0;
  /** What of earlier lines is not written yet; it begins within a line. */
  let rest: Buffer = nothing;
  let isBehind = false;
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;

  const drop = (count: number): void => {
    dropped += count;
    onDropped(count);
  };
  const schedule = (ms: number): void => {
    timer ??= setTimeout(flush, ms).unref();
  };
  const takeAll = (): void => {
    while (rest.length > 0 || lines.length > 0) {
      if (rest.length === 0) {
        rest = Buffer.from(lines.join(''));
        lines = [];
        length = 0;
      }
      rest = rest.subarray(take(rest));
    }
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    try {
      takeAll();
    } catch (error) {
      isBehind = isBusy(error);
      if (isBehind) schedule(retryMs);
      // The reader has left, or the disk is full: no later try of the same would do better.
      else {
        drop(linesOf(rest));
        rest = nothing;
      }
      return;
    }
    isBehind = false;
    if (dropped === 0) return;
    const count = dropped;
    dropped = 0;
    onRecovered(count);
  };
  const keep = (line: string, most: number): boolean => {
    if (rest.length + length + line.length > most) {
      drop(1);
      return false;
    }
    lines.push(line);
    length += line.length;
    return !isBehind;
  };
  return {
    write(line) {
      if (keep(line, mostWaiting)) flush();
    },
    writeLater(line) {
      if (!keep(line, mostWaitingLater)) return;
      if (length >= pieceLength) flush();
      else schedule(latestMs);
    },
    end() {
      for (let tries = 0; tries < lastTries; tries += 1) {
        flush();
        if (!isBehind) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      }
    },
  };
}

/** Lines to stdout; what waits is written when the process ends. Once for a process. */
export function stdoutLines(options: Omit<LineOutputOptions, 'take'>): LineOutput {
  // By opening it Node.js sets pipes and sockets to answer EAGAIN where they would block.
  process.stdout.on('error', () => {});
  const output = createLineOutput({ ...options, take: (bytes) => writeSync(1, bytes) });
  process.on('exit', output.end);
  return output;
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}

function linesOf(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count += 1;
  return count;
}
