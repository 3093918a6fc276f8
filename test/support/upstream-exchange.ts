import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** One request as the scripted upstream saw it. Fields fill in while it runs; times are `performance.now()`. */
export interface ReceivedRequest {
  readonly method: string;
  /** As received, with the query: `/v1/chat/completions?x=1`. */
  readonly url: string;
  /** Without the query: `/v1/chat/completions`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Name and value in turns, as they were on the wire. */
  readonly rawHeaders: readonly string[];
  /** Number of the TCP connection it came on, from 1: equal numbers prove a reused connection. */
  readonly connection: number;
  readonly startTime: number;
  /** The body bytes so far; complete once `bodyComplete`. */
  readonly body: Buffer;
  bodyComplete: boolean;
  /** When the answer was written completely, if it was. */
  answeredTime: number | undefined;
  /** When the caller left before the answer was complete; not set when the behaviour itself cut the connection. */
  clientGoneTime: number | undefined;
  /** Bytes handed to the connection for this answer so far, head included. */
  sentBytes: () => number;
}

/** What a behaviour works with: the request, node:http's response and the socket below it. */
export interface Exchange {
  readonly request: ReceivedRequest;
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** Aborts when the connection is gone or the upstream stops. */
  readonly signal: AbortSignal;
  /** The standard answer's settings. */
  readonly answers: AnswerOptions;
  /** Destroys the socket with a TCP reset, without counting as the client's leaving. */
  reset: () => void;
  /** Ends the socket in an orderly way (FIN) at once, without counting as the client's leaving. */
  close: () => void;
  /** Stops accepting connections, as `pause` does. */
  stopListening: () => void;
}

/** What the standard answers hold. */
export interface AnswerOptions {
  /** Names that `GET /models` lists. */
  models: readonly string[];
  /** Status of `GET /models`. */
  modelsStatus: number;
  /** Pieces of text in one answer. */
  chunks: number;
  /** Begins the text of every standard answer; default nothing. */
  prefix?: string;
  /** Pause before each streamed piece. */
  chunkDelayMilliseconds: number;
  /** JSON text of the arguments of the tool call that is answered when the request offers tools. */
  toolArguments: string;
  /** Further headers of every standard answer. */
  headers: Readonly<Record<string, string>>;
}
