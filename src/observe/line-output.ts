import { writeSync } from 'node:fs';
import process from 'node:process';

/** The output of the log and the access log, in order. No call throws or waits for the reader. */
export interface LineOutput {
  /** Writes a line now, after those that are buffered. */
  write(line: string): void;
  /** Buffers a line; it is written with others within a quarter of a second. */
  writeLater(line: string): void;
  /** Writes all that is buffered, waiting up to one second for a slow reader. For the end of the process. */
  end(): void;
}

export interface LineOutputOptions {
  /** Returns how many bytes were written; throws an error with the code EAGAIN if the pipe is full. */
  readonly take: (bytes: Buffer) => number;
  /** Called for lines that are dropped. */
  readonly onDropped: (lines: number) => void;
  /** The buffer is empty again, after `dropped` lines were lost. */
  readonly onRecovered: (dropped: number) => void;
}

/** How long lines are buffered: a system call for each line costs as much as composing it. */
const pieceLength = 8 * 1024;
const latestMs = 250;
const retryMs = 20;
const lastTries = 50;
/** Most characters buffered for a slow reader. The access log may use half of them, so that the process's own log has room. */
const mostWaiting = 2 * 1024 * 1024;
const mostWaitingLater = 1024 * 1024;
const lineFeed = 0x0a;
const nothing = Buffer.alloc(0);

/**
 * Writes lines. While the pipe is full, lines are buffered up to a bound and dropped beyond it. A blocking write would stop
 * every stream of the process while a log driver hangs. (sonic-boom then either sleeps, or blocks one of libuv's four
 * threads, which name look-ups and bodies need.)
 */
export function createLineOutput({ take, onDropped, onRecovered }: LineOutputOptions): LineOutput {
  let lines: string[] = [];
  /** The total length of `lines`. */
  let length = 0;
  /** The unwritten rest of earlier lines; it may begin in the middle of a line. */
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
      // The reader has closed the pipe, or the disk is full: retrying would not help.
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

/** Lines to stdout; the buffer is flushed when the process ends. Call it once per process. */
export function stdoutLines(options: Omit<LineOutputOptions, 'take'>): LineOutput {
  // When Node.js opens stdout it makes pipes and sockets non-blocking: a full one returns EAGAIN.
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
