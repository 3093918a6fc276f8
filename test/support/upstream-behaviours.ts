import { answerWell } from './upstream-answers.ts';
import type { Exchange } from './upstream-exchange.ts';
import { pause, pieceOfText, sendData, startEvents, write } from './upstream-sending.ts';

/** How the scripted upstream treats one request. All but `beforeBody` wait for the whole request body first. */
export type Behaviour =
  /** The standard answer of a healthy model server. */
  | { kind: 'well' }
  /** A fixed answer; a `body` that is no string and no bytes is sent as JSON. */
  | { kind: 'answer'; status?: number; headers?: Record<string, string>; body?: unknown }
  /** Plays `next` as soon as the request head is here, so that the body is still on its way. */
  | { kind: 'beforeBody'; next: Behaviour }
  /** Stops listening and resets this connection: later connects are refused until `resume`. */
  | { kind: 'refuse' }
  | { kind: 'resetBeforeHead' }
  /** Closes the connection in an orderly way (FIN) without any byte of an answer. */
  | { kind: 'closeBeforeHead' }
  | { kind: 'resetAfterHead'; status?: number; headers?: Record<string, string> }
  /** Streams `chunks` pieces of a chat answer, then resets. */
  | { kind: 'resetMidStream'; chunks: number }
  /** Streams `chunks` pieces, then ends the body in an orderly way, without finish reason or `[DONE]`. */
  | { kind: 'endMidStream'; chunks: number }
  /** Promises a content-length and closes after half of it. */
  | { kind: 'shortBody'; status?: number }
  /** Takes the request and never answers. */
  | { kind: 'hang' }
  /** Sends the head of an event stream, then nothing. */
  | { kind: 'hangAfterHead' }
  /** Streams `chunks` pieces, then stays silent for ever. */
  | { kind: 'hangMidStream'; chunks: number }
  /** Sends comment lines only, as keep-alives, every `everyMilliseconds`, `times` times; then plays the stream `next`. */
  | { kind: 'keepAlives'; everyMilliseconds: number; times: number; next: Behaviour }
  | { kind: 'slowFirstByte'; milliseconds: number; next?: Behaviour }
  /** Sends `body` byte by byte. */
  | { kind: 'slowBody'; body: string; everyMilliseconds: number; headers?: Record<string, string> }
  /** Sends `piece` (default 64 KiB of spaces) until the caller leaves. */
  | { kind: 'endlessBody'; piece?: string; headers?: Record<string, string> }
  | { kind: 'endlessHeaders' }
  | { kind: 'redirect'; location: string; status?: number }
  /** Streams `chunks` pieces, then an error event, then ends. */
  | { kind: 'errorInStream'; chunks: number; error: unknown }
  /** Answers well with keep-alive, then closes the connection unannounced `afterMilliseconds` later. */
  | { kind: 'closeAfterAnswer'; afterMilliseconds?: number }
  /** Writes these bytes to the connection instead of an HTTP answer, then closes it unless `open`. */
  | { kind: 'raw'; bytes: string | Uint8Array; open?: boolean }
  /** Anything else. */
  | { kind: 'run'; run: (exchange: Exchange) => Promise<void> | void };

/** Plays one behaviour to its end. Rejects when the connection goes away meanwhile; callers ignore that. */
export async function play(behaviour: Behaviour, exchange: Exchange): Promise<void> {
  const { response, socket } = exchange;
  switch (behaviour.kind) {
    case 'well':
      return answerWell(exchange);
    case 'answer':
      return answerFixed(exchange, behaviour);
    case 'beforeBody':
      return play(behaviour.next, exchange);
    case 'refuse':
      exchange.stopListening();
      return exchange.reset();
    case 'resetBeforeHead':
      return exchange.reset();
    case 'closeBeforeHead':
      return exchange.close();
    case 'resetAfterHead':
      response.writeHead(behaviour.status ?? 200, behaviour.headers ?? eventStream);
      response.flushHeaders();
      await pause(exchange, 20); // A reset overtakes bytes that the peer's kernel has not handed over yet.
      return exchange.reset();
    case 'resetMidStream':
      await streamPieces(exchange, behaviour.chunks);
      await pause(exchange, 20);
      return exchange.reset();
    case 'endMidStream':
      await streamPieces(exchange, behaviour.chunks);
      response.end();
      return;
    case 'shortBody':
      response.writeHead(behaviour.status ?? 200, {
        'content-type': 'application/json',
        'content-length': 2000,
      });
      response.write(`{"half":"${'x'.repeat(990)}`);
      await pause(exchange, 20);
      return exchange.close();
    case 'hang':
      return;
    case 'hangAfterHead':
      return startEvents(exchange);
    case 'hangMidStream':
      return streamPieces(exchange, behaviour.chunks);
    case 'keepAlives':
      startEvents(exchange);
      for (let sent = 0; sent < behaviour.times; sent++) {
        await pause(exchange, behaviour.everyMilliseconds);
        await write(exchange, ': keepalive\n\n');
      }
      return play(behaviour.next, exchange);
    case 'slowFirstByte':
      await pause(exchange, behaviour.milliseconds);
      return play(behaviour.next ?? { kind: 'well' }, exchange);
    case 'slowBody':
      response.writeHead(200, behaviour.headers ?? json);
      for (const character of behaviour.body) {
        await pause(exchange, behaviour.everyMilliseconds);
        await write(exchange, character);
      }
      response.end();
      return;
    case 'endlessBody':
      response.writeHead(200, behaviour.headers ?? json);
      for (;;) {
        await write(exchange, behaviour.piece ?? spaces);
        await pause(exchange, 1); // Leaves the event loop to the others of this process.
      }
    case 'endlessHeaders':
      socket.write('HTTP/1.1 200 OK\r\n');
      for (let index = 0; ; index++) {
        if (socket.writableLength < 1 << 20) socket.write(`x-endless-${index}: ${'y'.repeat(1000)}\r\n`);
        if (index % 16 === 0) await pause(exchange, 1);
      }
    case 'redirect':
      response.writeHead(behaviour.status ?? 307, { location: behaviour.location }).end();
      return;
    case 'errorInStream':
      await streamPieces(exchange, behaviour.chunks);
      await sendData(exchange, { error: behaviour.error });
      response.end();
      return;
    case 'closeAfterAnswer':
      response.once('finish', () => setTimeout(exchange.close, behaviour.afterMilliseconds ?? 0));
      return answerWell(exchange);
    case 'raw':
      socket.write(behaviour.bytes);
      if (behaviour.open !== true) exchange.close();
      return;
    case 'run':
      return behaviour.run(exchange);
  }
}

const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' };
const json = { 'content-type': 'application/json' };
const spaces = ' '.repeat(64 * 1024);

function answerFixed(exchange: Exchange, fixed: Extract<Behaviour, { kind: 'answer' }>): void {
  const { body } = fixed;
  const plain = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const bytes = Buffer.from(plain ? (body ?? '') : JSON.stringify(body));
  exchange.response.writeHead(fixed.status ?? 200, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    ...fixed.headers,
  });
  exchange.response.end(bytes);
}

async function streamPieces(exchange: Exchange, chunks: number): Promise<void> {
  startEvents(exchange);
  for (let index = 0; index < chunks; index++) {
    await pause(exchange, exchange.answers.chunkDelayMilliseconds);
    await sendData(exchange, {
      id: 'chatcmpl-scripted',
      object: 'chat.completion.chunk',
      created: 1_750_000_000,
      model: 'scripted',
      choices: [
        { index: 0, delta: { content: pieceOfText(index, exchange.answers.prefix) }, finish_reason: null },
      ],
    });
  }
}
