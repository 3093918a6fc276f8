import { type AddressInfo, createServer, type Socket } from 'node:net';
import { benchModels, streamNumberDigits, streamNumberMark } from './bench-requests.ts';

/** What one stream sends: its start with the head of the answer, then `piece` again and again, then its end. */
export interface StreamScript {
  readonly start: Buffer;
  readonly piece: Buffer;
  readonly pieces: number;
  readonly end: Buffer;
}

/** The model server of the bench. */
export interface FastUpstream {
  readonly port: number;
  /** Bytes of content in a plain answer. */
  readonly plainBytes: number;
  /** Lines `data:` in a complete streamed answer. */
  readonly streamLines: number;
  /** Requests answered so far. */
  answered: () => number;
  /** Sends the next piece of stream `number`: the generator calls it when it has received the one before. */
  advance: (number: number) => void;
  /** Gives stream `number` another script than `streamChunks` pieces of text; undefined: that one again. */
  script: (number: number, script: StreamScript | undefined) => void;
  /** Called with the number of a stream just before its start is written. */
  onStart: ((number: number) => void) | undefined;
  stop: () => void;
}

/**
 * Starts a model server on raw sockets that writes prepared bytes: it must never be what limits a measurement.
 * A stream goes forward piece by piece as the generator takes the pieces. Written freely, the pieces would pile up before
 * a slow proxy, which would then move many at a time: the slower the proxy, the cheaper its work.
 */
export async function startFastUpstream(streamChunks: number): Promise<FastUpstream> {
  const ordinary: StreamScript = {
    start: streamStart,
    piece: streamPiece,
    // The start holds the first one.
    pieces: streamChunks - 1,
    end: streamEnd,
  };
  const scripts = new Map<number, StreamScript>();
  const streams = new Map<number, { socket: Socket; sent: number; script: StreamScript }>();
  const sockets = new Set<Socket>();
  let answered = 0;

  const answer = (socket: Socket, bodyStart: string) => {
    answered += 1;
    // Told by the model: a converted request has `stream` at its end.
    if (bodyStart.includes(`"${benchModels.plain}"`)) {
      socket.write(plainAnswer);
      return;
    }
    const mark = bodyStart.indexOf(streamNumberMark) + 1;
    const number = Number(bodyStart.slice(mark, mark + streamNumberDigits));
    const script = scripts.get(number) ?? ordinary;
    if (!bodyStart.includes(`"${benchModels.idle}"`)) streams.set(number, { socket, sent: 0, script });
    upstream.onStart?.(number);
    socket.write(script.start);
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.on(
      'data',
      requestReader((bodyStart) => answer(socket, bodyStart)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1024, resolve));

  const upstream: FastUpstream = {
    port: (server.address() as AddressInfo).port,
    plainBytes: plainBody.length,
    streamLines: streamChunks + 1,
    answered: () => answered,
    advance: (number) => {
      const stream = streams.get(number);
      if (stream === undefined) return;
      if (stream.sent < stream.script.pieces) {
        stream.sent += 1;
        stream.socket.write(stream.script.piece);
      } else {
        streams.delete(number);
        stream.socket.write(stream.script.end);
      }
    },
    script: (number, script) => {
      if (script === undefined) scripts.delete(number);
      else scripts.set(number, script);
    },
    onStart: undefined,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return upstream;
}

/**
 * Calls `onRequest` at the end of each request of one connection, with the first bytes of the body; with the last ones
 * behind them where the first do not name the model, because some proxies write it last.
 */
function requestReader(onRequest: (bodyStart: string) => void): (bytes: Buffer) => void {
  let pending: Buffer | undefined;
  let left = 0;
  let bodyStart = '';
  let tail: Buffer | undefined;
  return (received) => {
    let bytes = received;
    while (bytes.length > 0) {
      if (left === 0) {
        if (pending !== undefined) bytes = Buffer.concat([pending, bytes]);
        const end = bytes.indexOf('\r\n\r\n');
        const start = end + 4;
        // The start of the body says what is asked for, so it has to be here with the head.
        if (end === -1 || bytes.length < start + 1) {
          pending = bytes;
          return;
        }
        const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString('latin1', 0, end));
        if (length === null) throw new Error('bench upstream: a request without content-length');
        left = Number(length[1]);
        if (bytes.length < start + Math.min(left, 128)) {
          pending = bytes;
          left = 0;
          return;
        }
        pending = undefined;
        bodyStart = bytes.toString('latin1', start, start + 128);
        tail = bodyStart.includes('"model"') ? undefined : empty;
        bytes = bytes.subarray(start);
      }
      const taken = Math.min(left, bytes.length);
      left -= taken;
      if (tail !== undefined)
        tail = Buffer.concat([tail, bytes.subarray(0, taken).subarray(-128)]).subarray(-128);
      bytes = bytes.subarray(taken);
      if (left === 0) onRequest(tail === undefined ? bodyStart : bodyStart + tail.toString('latin1'));
    }
  };
}

const empty = Buffer.alloc(0);

const common = { id: 'chatcmpl-bench', created: 1_750_000_000, model: benchModels.plain };
const plainBody = Buffer.from(
  JSON.stringify({
    ...common,
    object: 'chat.completion',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'word '.repeat(100) }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 250, completion_tokens: 100, total_tokens: 350 },
  }),
);
const plainAnswer = Buffer.concat([
  Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${plainBody.length}\r\n\r\n`,
  ),
  plainBody,
]);
/** One event of a streamed answer, as one chunk of HTTP. */
export function streamDelta(delta: object): Buffer {
  const choices = [{ index: 0, delta, finish_reason: null }];
  return chunk(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices })}\n\n`);
}

/** The head of a streamed answer, and its first events. */
export function streamStartOf(...events: readonly Buffer[]): Buffer {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
  return Buffer.concat([Buffer.from(head), ...events]);
}

const streamPiece = streamDelta({ content: ' word' });
const streamStart = streamStartOf(streamPiece);
/** The end of a streamed answer. */
export const streamEnd = Buffer.concat([chunk('data: [DONE]\n\n'), Buffer.from('0\r\n\r\n')]);

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}
