/** Everything needed to reach one model server. Immutable: a change makes a new object. */
export interface UpstreamConnection {
  /** http(s) address including the version segment, such as `https://api.openai.com/v1`. */
  readonly baseURL: string;
  /** The header that carries the credential: `Authorization: Bearer`, `x-api-key` or `api-key`. */
  readonly authentication: 'Bearer' | 'XAPIKey' | 'APIKey';
  readonly credential?: string;
  /** Extra headers of the node, set last. Never the credential's, `Host`, `Content-*` or hop-by-hop ones. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /**
   * `caBundle` (PEM) replaces the system's roots, as `curl --cacert` does. `serverName` is sent as SNI,
   * and the certificate must be valid for it.
   */
  readonly tls?: { readonly caBundle?: string; readonly serverName?: string };
  /** All in seconds, each for one attempt. */
  readonly timeouts: {
    /** From the start of the name look-up until the connection (TLS included) is established. */
    readonly connectSeconds: number;
    /** From the end of the request until the response head has arrived. Sending the request may take as long again. */
    readonly firstByteSeconds: number;
    /** Between two pieces of the body; not counted while the reader has paused. */
    readonly idleSeconds: number;
    /** From `send` to the last byte. */
    readonly totalSeconds: number;
  };
}
