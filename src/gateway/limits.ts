/** Every limit of the traffic port, in bytes, milliseconds or counts. */
export interface Limits {
  /** Largest request body, counted after decompression. */
  readonly bodyBytes: number;
  /** Largest sum of all request bodies held at one time, decoded or not. */
  readonly bufferedBytes: number;
  /** How long no byte of a body may arrive before the request is refused. */
  readonly bodyIdleMs: number;
  /** How long a body may take as a whole. */
  readonly bodyTotalMs: number;
  /** How long a TLS handshake may take. */
  readonly handshakeMs: number;
  /** How long the request line and headers may take. */
  readonly headersMs: number;
  readonly headerBytes: number;
  /** How long a caller may read nothing while bytes of its answer wait. */
  readonly answerIdleMs: number;
  /** After an answer that closes the connection: how long further bytes of the caller are read and discarded. */
  readonly lingerMs: number;
  /** Pipelined requests of one connection that may wait for earlier answers; a connection with more is closed. */
  readonly queuedRequests: number;
  /** How long an unused connection stays open. Longer than the usual load balancer's 60 s, so that it closes first. */
  readonly idleConnectionMs: number;
  /** Deepest nesting of a JSON body. */
  readonly jsonDepth: number;
  /** Most parts of a multipart body, and the longest headers of one part. */
  readonly formParts: number;
  readonly formHeaderBytes: number;
  /** Most nodes tried for one request, and the time after which no further node is tried. */
  readonly attempts: number;
  readonly attemptsMs: number;
  /** Silence of the upstream after which a stream gets a keep-alive comment. */
  readonly keepAliveMs: number;
  /** How much of a stream is held back while waiting for its first content. */
  readonly heldBytes: number;
  /** How much of a node's error body is kept, to answer the caller with it. */
  readonly errorBodyBytes: number;
  /** Longest answer that is converted as a whole: all of it is in memory. */
  readonly convertedBytes: number;
  /** Requests to one node at the same time for one request of several choices. */
  readonly choicesAtOnce: number;
}

const mib = 1024 * 1024;

export const defaultLimits: Limits = {
  bodyBytes: 32 * mib,
  bufferedBytes: 256 * mib,
  bodyIdleMs: 30_000,
  bodyTotalMs: 300_000,
  handshakeMs: 10_000,
  headersMs: 20_000,
  headerBytes: 32 * 1024,
  answerIdleMs: 120_000,
  lingerMs: 10_000,
  queuedRequests: 256,
  idleConnectionMs: 75_000,
  jsonDepth: 512,
  formParts: 1000,
  formHeaderBytes: 8 * 1024,
  attempts: 3,
  attemptsMs: 300_000,
  keepAliveMs: 15_000,
  heldBytes: 256 * 1024,
  errorBodyBytes: 64 * 1024,
  convertedBytes: 32 * mib,
  choicesAtOnce: 4,
};
