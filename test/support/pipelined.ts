import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A request as it is sent, byte for byte. */
export interface RawRequest {
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  readonly fields: readonly string[];
  readonly body: string;
}

export interface PipelinedAnswer {
  /** 0: the connection was closed without an answer. */
  readonly status: number;
  readonly body: string;
}

const depth = 8;
const answerMs = 30_000;

/**
 * Sends the requests over few connections, several at once on each, and gives their answers in the same order. What a
 * closed connection left unanswered is sent again, by itself. Throws if an answer does not come.
 */
export async function askPipelined(
  open: () => Socket,
  requests: readonly RawRequest[],
  connections = 6,
): Promise<PipelinedAnswer[]> {
  const answers: PipelinedAnswer[] = new Array(requests.length);
  const waiting = [...requests.keys()].reverse();
  const work = async (): Promise<void> => {
    let most = depth;
    for (;;) {
      const batch: number[] = [];
      while (batch.length < most && waiting.length > 0) batch.push(waiting.pop() ?? 0);
      if (batch.length === 0) return;
      const sent = batch.map((at) => requests[at] as RawRequest);
      const got = await askOnce(open, sent);
      for (const [index, answer] of got.entries()) answers[batch[index] as number] = answer;
      const [first = 0, ...rest] = batch.slice(got.length);
      const isClosed = got.length === 0;
      if (isClosed && most === 1) answers[first] = { status: 0, body: '' };
      else if (got.length < batch.length) waiting.push(...rest.reverse(), first);
      // A connection that is closed at once is closed by the first request, or by one behind it: see which.
      most = isClosed && most > 1 ? 1 : depth;
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return answers;
}

/** As many answers as there were before the connection closed, or one for each request. */
async function askOnce(open: () => Socket, requests: readonly RawRequest[]): Promise<PipelinedAnswer[]> {
  const socket = open();
  const answers: PipelinedAnswer[] = [];
  const ended = new AbortController();
  let text = '';
  const all = new Promise<void>((resolve) => {
    const take = (isClosed: boolean): void => {
      for (;;) {
        const request = requests[answers.length];
        const taken = request === undefined ? undefined : takeAnswer(text, request.method, isClosed);
        if (taken === undefined) break;
        text = taken.rest;
        answers.push(taken.answer);
      }
      if (isClosed || answers.length === requests.length) resolve();
    };
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1');
      take(false);
    });
    socket.on('close', () => take(true));
    socket.on('error', () => socket.destroy());
  });
  for (const request of requests) socket.write(textOf(request), 'latin1');
  await Promise.race([all, delay(answerMs, undefined, { signal: ended.signal }).catch(() => {})]);
  ended.abort();
  const isLate = !socket.destroyed && answers.length < requests.length;
  socket.destroy();
  if (isLate) throw new Error(`no answer within ${answerMs} ms: ${JSON.stringify(requests[answers.length])}`);
  return answers;
}

function textOf({ method, target, version, fields, body }: RawRequest): string {
  const length = body === '' ? [] : ['content-type: application/json', `content-length: ${body.length}`];
  return `${[`${method} ${target} HTTP/${version}`, ...fields, ...length].join('\r\n')}\r\n\r\n${body}`;
}

/** The first whole answer in the text. */
function takeAnswer(
  text: string,
  method: string,
  isClosed: boolean,
): { answer: PipelinedAnswer; rest: string } | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = text.slice(0, end);
  const after = text.slice(end + 4);
  const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) throw new Error(`no HTTP answer: ${head.slice(0, 200)}`);
  if (status < 200) return takeAnswer(after, method, isClosed);
  if (method === 'HEAD' || status === 204 || status === 304) {
    return { answer: { status, body: '' }, rest: after };
  }
  if (/^transfer-encoding: chunked$/im.test(head)) {
    const last = after.indexOf('0\r\n\r\n');
    return last === -1
      ? undefined
      : { answer: { status, body: after.slice(0, last) }, rest: after.slice(last + 5) };
  }
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  if (length === undefined) return isClosed ? { answer: { status, body: after }, rest: '' } : undefined;
  if (after.length < Number(length)) return undefined;
  return { answer: { status, body: after.slice(0, Number(length)) }, rest: after.slice(Number(length)) };
}
