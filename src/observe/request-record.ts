/** Tokens of one answer, as the node reported them. 0: none, or not reported separately. */
export interface TokenUsage {
  /** All input, cached included. */
  readonly input: number;
  /** All output, reasoning included. */
  readonly output: number;
  /** Input that was read from a cache. */
  readonly cached: number;
  readonly reasoning: number;
}

/** One finished request, for metrics, access log and traces. Nothing here comes from a request's body. */
export interface RequestRecord {
  /** The route's pattern, such as `/v1/chat/completions`; `unknown` for paths that do not exist. */
  readonly route: string;
  /** The HTTP status; 499 when the caller left. */
  readonly status: number;
  /** The last tried node's name for the model; undefined if no node was tried. Always a name from a manifest. */
  readonly model: string | undefined;
  /** The last node tried, `namespace/name`. */
  readonly node: string | undefined;
  readonly attempts: number;
  readonly durationMs: number;
  /** From the request's head to the first content of a stream; undefined if there was none. */
  readonly firstContentMs: number | undefined;
  /** Size of the decoded request body. */
  readonly bytesIn: number;
  /** Size of the answer's body. */
  readonly bytesOut: number;
  readonly tokens: TokenUsage | undefined;
  /** The gateway's own error that the caller got, by its name in the catalogue. */
  readonly errorCode: string | undefined;
}
