/** Who has something for a socket. */
export interface BatchedWriter {
  /** Hands it to the socket; called once for each `writeTogether`. Must not throw. */
  writeNow(): void;
}

/** So many are written without waiting for more: the first of them must not wait for long. */
const mostWriters = 32;

let writers: BatchedWriter[] = [];
let isScheduled = false;

/**
 * Lets `writer` write when all that has come to this process by now is read. Of writes that follow each other closely
 * the first wakes whoever reads them, and the others find it awake: a request of 1 KB costs a fifth less than with each
 * write as soon as it can be made.
 */
export function writeTogether(writer: BatchedWriter): void {
  if (writers.push(writer) >= mostWriters) writeAll();
  else if (!isScheduled) {
    isScheduled = true;
    setImmediate(onImmediate);
  }
}

function onImmediate(): void {
  isScheduled = false;
  writeAll();
}

function writeAll(): void {
  const batch = writers;
  writers = [];
  for (const writer of batch) writer.writeNow();
}
