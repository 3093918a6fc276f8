import type { AccessRecord } from './access-log.ts';

/** Starts the spans of requests. Undefined if tracing is off. */
export interface Tracing {
  /** A request has begun; `traceparent` and `tracestate` are the caller's. */
  request(about: {
    readonly method: string;
    readonly route: string;
    readonly traceparent: string | undefined;
    readonly tracestate: string | undefined;
  }): RequestTrace;
}

/** The span of one request. */
export interface RequestTrace {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** An attempt on a node begins. */
  attempt(about: AttemptAbout): AttemptTrace;
  /** Ends the request's span, and that of an attempt that is still open. Called once. */
  end(record: AccessRecord): void;
}

export interface AttemptAbout {
  /** `namespace/name`. */
  readonly node: string;
  readonly model: string;
  readonly baseURL: string;
  /** Counts from 1. */
  readonly number: number;
  /** The format of the request to the node. */
  readonly format: string;
  readonly stream: boolean;
}

/** The span of one attempt. */
export interface AttemptTrace {
  /** Flat headers for the node with the context of this attempt in place of the caller's. */
  headers(callers: readonly string[]): string[];
  /** The attempt ended before the request did. */
  failed(outcome: string): void;
}
