import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expectedAnswers } from './expected-answers.ts';
import { keyMark, type MalformedRequest } from './malformed-requests.ts';
import { readAnswers } from './read-answers.ts';

/** What came of one connection. */
export interface Conversation {
  readonly statuses: readonly number[];
  /** What was written, how its caller left, and what the gateway did; for the table. */
  readonly course: string;
}

const written = { nothing: 'whole requests', refusal: 'no HTTP', more: 'half a request' };
const left = { wait: 'the caller waits', end: 'the caller ends its side', destroy: 'the caller leaves' };

/** How long the gateway may take for what it owes at once, on the busiest machine. */
const owedMs = 20_000;
/** Half a request is left alone for this long before its caller says that no more will come. */
const silenceMs = 15;
/** What node:http closes the connection for, and whatever was asked before, without asking anybody. */
const cutByNode = /(?:CONNECT|PRI) /;
/** Longer than the gateway waits for a head or a body that stands still. */
const patienceMs = 60_000;

/**
 * Writes to a connection of its own and sees to it that the gateway does what it owes: an answer to every whole request or
 * a refusal and a close, a refusal and a close for what is no HTTP, a close once a caller has said that no more comes; to a
 * `patient` caller, who never says so, 408. @throws when it does not, and for an answer of 5xx
 */
export async function converse(
  port: number,
  request: MalformedRequest,
  key: string,
  patient = false,
): Promise<Conversation> {
  const { pieces, leave } = request;
  const bytes = Buffer.from(request.bytes.toString('latin1').replaceAll(keyMark, key), 'latin1');
  const { methods, rest } = expectedAnswers(bytes);
  const course = `${written[rest]}, ${patient ? 'the caller waits long' : left[leave]}`;
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  let received = '';
  let closed = false;
  let cause = 'ended';
  let heard = (): void => undefined;
  const settled = (test: () => boolean, ms: number) =>
    new Promise<boolean>((resolve) => {
      const late = setTimeout(() => resolve(false), ms);
      heard = () => {
        if (!test()) return;
        clearTimeout(late);
        resolve(true);
      };
      heard();
    });
  socket.on('data', (piece: Buffer) => {
    received += piece.toString('latin1');
    heard();
  });
  // A reset is a close: the gateway may have left while this still wrote.
  socket.on('error', ({ code = 'error' }: NodeJS.ErrnoException) => (cause = code));
  for (const event of ['end', 'error', 'close']) {
    socket.on(event, () => {
      closed = true;
      heard();
    });
  }
  try {
    const size = Math.max(1, Math.ceil(bytes.length / pieces));
    for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
      socket.write(bytes.subarray(at, at + size));
      if (pieces > 1) await new Promise(setImmediate);
    }
    if (leave === 'destroy') {
      await delay(1);
      return { statuses: readAnswers(received, methods).statuses, course };
    }
    if (leave === 'end') socket.end();
    const owed = rest === 'refusal' ? methods.length + 1 : methods.length;
    const isPaid = () => {
      if (closed) return true;
      const { statuses, whole } = readAnswers(received, methods);
      return whole && statuses.length >= owed;
    };
    if (!(await settled(isPaid, owedMs))) throw new Error(`neither answered nor closed: ${received}`);
    const isClosed = () => closed;
    let end = 'stays open';
    if (readAnswers(received, methods).closes || leave === 'end' || rest === 'refusal') {
      if (!(await settled(isClosed, owedMs))) throw new Error(`not closed: ${received}`);
    } else if (rest === 'more') {
      const byItself = await settled(isClosed, patient ? patienceMs : silenceMs);
      if (patient && !byItself) throw new Error(`never given up: ${received}`);
      if (!byItself) socket.end();
      if (!(await settled(isClosed, owedMs))) throw new Error(`open after the caller's end: ${received}`);
      if (!byItself) end = 'closed once the caller has ended its side';
    }
    if (closed && end !== 'closed once the caller has ended its side') end = 'closed';
    const { statuses, wrong } = readAnswers(received, methods);
    if (wrong !== undefined) throw new Error(wrong);
    const isToldNothing = statuses.length === 0 && leave === 'wait' && (owed > 0 || patient);
    if (isToldNothing && !cutByNode.test(bytes.toString('latin1'))) {
      throw new Error(`closed without a word: ${cause}`);
    }
    if (statuses.some((status) => status >= 500)) throw new Error(`an error of its own: ${received}`);
    const last = statuses.at(-1) ?? 0;
    if (patient && last < 400) throw new Error(`not told: ${received}`);
    const answer =
      last === 0 ? 'no answer' : last < 400 ? 'answered' : last === 408 ? 'timed out' : 'refused';
    return { statuses, course: `${course}: ${answer}, ${end}` };
  } finally {
    socket.destroy();
  }
}
