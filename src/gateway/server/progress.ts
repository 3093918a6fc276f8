import type { IncomingMessage } from 'node:http';
import type { AccessLog, AccessRecord } from '../../observe/access-log.ts';
import type { RequestMetrics } from '../../observe/request-metrics.ts';
import type { RequestRecord, TokenUsage } from '../../observe/request-record.ts';
import type { RouteMeter } from '../../observe/route-meter.ts';
import type { RequestTrace, Tracing } from '../../observe/tracing.ts';
import type { KeyEntry, View } from '../../store/store.ts';
import type { Caller, CallerRecord } from '../answer/caller.ts';
import type { AttemptOutcome } from '../attempt/attempt-outcome.ts';
import { GatewayError } from '../errors/errors.ts';

/** What happened to one request, recorded when its response has closed. */
export type RequestDone = RequestRecord;

/** Where a request's record goes. */
export interface RecordContext {
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
  readonly view: View;
  readonly requests: RequestMetrics;
  readonly onRequestDone: (done: RequestDone) => void;
  readonly accessLog: AccessLog;
  /** Undefined if tracing is off. */
  readonly tracing: Tracing | undefined;
}

/**
 * What is known of a request while it runs. It is recorded once, when its response has closed; it is the record itself,
 * so that no further object is allocated.
 */
export class Progress implements CallerRecord, AccessRecord {
  keyEntry: KeyEntry | undefined;
  /** The model as the caller named it; not checked. */
  wanted: string | undefined;
  node: string | undefined;
  model: string | undefined;
  attempts = 0;
  /** How attempts failed, by node. */
  failed: readonly string[] | undefined;
  /** The conversion that the last attempt ran, and the fields that it could not carry. */
  conversion: string | undefined;
  dropped: readonly string[] | undefined;
  error: unknown;
  bytesIn = 0;
  tokens: TokenUsage | undefined;
  /** How an answer that had begun broke off. */
  broke: AttemptOutcome | undefined;
  status = 0;
  durationMs = 0;
  firstContentMs: number | undefined;
  readonly #context: RecordContext;
  readonly #meter: RouteMeter;
  readonly #caller: Caller;
  readonly #started: number;
  /** The request's span; undefined if tracing is off. */
  readonly trace: RequestTrace | undefined;
  /** When the last piece of a stream went to the caller. */
  #lastPiece = 0;

  constructor(context: RecordContext, route: string, caller: Caller) {
    this.#context = context;
    this.#meter = context.requests.route(route);
    this.#caller = caller;
    this.#started = context.clock();
    const { tracing } = context;
    this.trace = tracing === undefined ? undefined : startTrace(tracing, route, caller.request);
  }

  get route(): string {
    return this.#meter.route;
  }

  get bytesOut(): number {
    return this.#caller.bytesOut;
  }

  get errorCode(): string | undefined {
    return this.error instanceof GatewayError ? this.error.code : undefined;
  }

  get errorMessage(): string | undefined {
    return this.error instanceof GatewayError ? this.error.message : undefined;
  }

  get requestId(): string {
    return this.#caller.requestId;
  }

  get key(): string | undefined {
    const metadata = this.keyEntry?.resource.metadata;
    return metadata === undefined ? undefined : `${metadata.namespace}/${metadata.name}`;
  }

  /** A name that no manifest has is the caller's own text. */
  get asked(): string | undefined {
    const { wanted } = this;
    return wanted === undefined || this.#context.view.served(wanted) === undefined ? undefined : wanted;
  }

  get traceId(): string | undefined {
    return this.trace?.traceId;
  }

  contentBegan(): void {
    this.#lastPiece = this.#context.clock();
    this.firstContentMs = this.#lastPiece - this.#started;
    this.#meter.openStreams += 1;
  }

  piece(): void {
    const now = this.#context.clock();
    this.#meter.gaps.observe((now - this.#lastPiece) / 1000);
    this.#lastPiece = now;
  }

  closed(): void {
    const { clock, requests, onRequestDone } = this.#context;
    this.durationMs = clock() - this.#started;
    this.status = this.#caller.gone ? 499 : this.#caller.status;
    if (this.firstContentMs !== undefined) this.#meter.openStreams -= 1;
    // A drain waits for the second call, so it must be made even if the first throws.
    try {
      requests.record(this.#meter, this);
    } finally {
      onRequestDone(this);
    }
    this.#context.accessLog(this);
    this.trace?.end(this);
  }
}

function startTrace(
  tracing: Tracing,
  route: string,
  { method = '', headers }: IncomingMessage,
): RequestTrace {
  const { traceparent, tracestate } = headers;
  return tracing.request({
    method,
    route,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    tracestate: typeof tracestate === 'string' ? tracestate : undefined,
  });
}
