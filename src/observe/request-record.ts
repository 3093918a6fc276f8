/** Tokens of one answer, as the node told them. 0: none, or not told apart. */
export interface TokenUsage {
  /** All input, cached included. */
  readonly input: number;
  /** All output, reasoning included. */
  readonly output: number;
  /** Input that was read from a cache. */
  readonly cached: number;
  readonly reasoning: number;
}

/** One request that has ended, as metrics, access log and traces see it. Nothing of it comes from a body. */
export interface RequestRecord {
  /** The route's pattern, such as `/v1/chat/completions`; `unknown` for paths that there are not. */
  readonly route: string;
  /** The HTTP status; 499 when the caller left. */
  readonly status: number;
  /** The model as the last node tried names it; undefined where none was tried. Always of a manifest. */
  readonly model: string | undefined;
  /** The last node tried, `namespace/name`. */
  readonly node: string | undefined;
  readonly attempts: number;
  readonly durationMs: number;
  /** From the request's head to the first content of a stream; undefined where none flowed. */
  readonly firstContentMs: number | undefined;
  /** Of the request's body, decoded. */
  readonly bytesIn: number;
  /** Of the answer's body. */
  readonly bytesOut: number;
  readonly tokens: TokenUsage | undefined;
  /** The error of ours that the caller got, by its name in the catalogue. */
  readonly errorCode: string | undefined;
}
