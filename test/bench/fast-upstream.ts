import { type AddressInfo, createServer, type Socket } from 'node:net';
import { benchModels, streamNumberDigits } from './bench-requests.ts';

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
  stop: () => void;
}

/**
 * Starts a model server on raw sockets that writes prepared bytes: it must never be what limits a measurement.
 * A stream goes forward piece by piece as the generator takes the pieces. Written freely, the pieces would pile up before
 * a slow proxy, which would then move many at a time: the slower the proxy, the cheaper its work.
 */
export async function startFastUpstream(streamChunks: number): Promise<FastUpstream> {
  const streams = new Map<number, { socket: Socket; sent: number }>();
  const sockets = new Set<Socket>();
  let answered = 0;

  const answer = (socket: Socket, bodyStart: string) => {
    answered += 1;
    if (!bodyStart.includes('"stream":true')) {
      socket.write(plainAnswer);
      return;
    }
    const user = bodyStart.indexOf('"user":"') + 8;
    const number = Number(bodyStart.slice(user, user + streamNumberDigits));
    if (!bodyStart.includes(`"${benchModels.idle}"`)) streams.set(number, { socket, sent: 1 });
    socket.write(streamStart);
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

  return {
    port: (server.address() as AddressInfo).port,
    plainBytes: plainBody.length,
    streamLines: streamChunks + 1,
    answered: () => answered,
    advance: (number) => {
      const stream = streams.get(number);
      if (stream === undefined) return;
      if (stream.sent < streamChunks) {
        stream.sent += 1;
        stream.socket.write(streamPiece);
      } else {
        streams.delete(number);
        stream.socket.write(streamEnd);
      }
    },
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Calls `onRequest` with the first bytes of the body at the end of each request of one connection. */
function requestReader(onRequest: (bodyStart: string) => void): (bytes: Buffer) => void {
  let pending: Buffer | undefined;
  let left = 0;
  let bodyStart = '';
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
        bytes = bytes.subarray(start);
      }
      const taken = Math.min(left, bytes.length);
      left -= taken;
      bytes = bytes.subarray(taken);
      if (left === 0) onRequest(bodyStart);
    }
  };
}

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
const streamPiece = chunk(
  `data: ${JSON.stringify({
    ...common,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }],
  })}\n\n`,
);
const streamStart = Buffer.concat([
  Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'),
  streamPiece,
]);
const streamEnd = Buffer.concat([chunk('data: [DONE]\n\n'), Buffer.from('0\r\n\r\n')]);

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}
