/**
 * How an answer of a node failed: `reported` (the node said so), `malformed` (not what chat-completions looks like),
 * `truncated` (ended before it was complete), `empty` (nothing in it), `oversize`; and by the code that reads the
 * connection: `timeout` and `interrupted`.
 */
export type FaultKind =
  | 'reported'
  | 'malformed'
  | 'truncated'
  | 'empty'
  | 'oversize'
  | 'timeout'
  | 'interrupted';

/** What a node reported about its failure. */
export interface FaultDetails {
  /** HTTP status that fits: the node's own, else 502, or 504 for timeouts. */
  readonly status?: number | undefined;
  /** The node's `code`, always text. */
  readonly code?: string | undefined;
  /** The node's `type`. */
  readonly type?: string | undefined;
}

/** An answer that failed. `message` may be shown to the caller: no address, no credential, no raw body. */
export class UpstreamFault extends Error {
  readonly kind: FaultKind;
  readonly status: number;
  readonly code: string | undefined;
  readonly type: string | undefined;

  constructor(kind: FaultKind, message: string, details: FaultDetails = {}) {
    super(message);
    this.name = 'UpstreamFault';
    this.kind = kind;
    this.status = details.status ?? (kind === 'timeout' ? 504 : 502);
    this.code = details.code;
    this.type = details.type;
  }
}
