import type { Log } from '../observe/log.ts';
import type { RequestMetrics } from '../observe/request-metrics.ts';
import type { RequestRecord, TokenUsage } from '../observe/request-record.ts';
import type { RouteMeter } from '../observe/route-meter.ts';
import type { KeyEntry, View } from '../store/store.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { Caller, CallerRecord } from './caller.ts';
import { GatewayError } from './errors.ts';

/** What happened to one request, told when its connection is done with it. */
export type RequestDone = RequestRecord;

/** Where a request's record goes. */
export interface RecordContext {
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
  readonly view: View;
  readonly requests: RequestMetrics;
  readonly onRequestDone: (done: RequestDone) => void;
}

/** The answers that say that no node could do it; 529 is 503 in the Anthropic shape. */
const upstreamTrouble: ReadonlySet<number> = new Set([502, 503, 504, 529]);

/**
 * What is known of a request while it runs; recorded once, when its connection is done with it, and its own record then:
 * no object is made for that.
 */
export class Progress implements CallerRecord, RequestRecord {
  key: KeyEntry | undefined;
  /** The model as the caller named it, whatever that is. */
  asked: string | undefined;
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
  /** When the last piece of a stream went to the caller. */
  #lastPiece = 0;

  constructor(context: RecordContext, route: string, caller: Caller) {
    this.#context = context;
    this.#meter = context.requests.route(route);
    this.#caller = caller;
    this.#started = context.clock();
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
    const { log, clock, requests, onRequestDone } = this.#context;
    this.durationMs = clock() - this.#started;
    this.status = this.#caller.gone ? 499 : this.#caller.status;
    if (this.firstContentMs !== undefined) this.#meter.openStreams -= 1;
    requests.record(this.#meter, this);
    onRequestDone(this);
    const { status } = this;
    const level = upstreamTrouble.has(status) ? 'warn' : status < 400 && this.attempts < 2 ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) log[level](this.#fields(), 'Answered a request');
  }

  #fields(): Record<string, unknown> {
    const { key, asked = '', node, attempts, failed, error } = this;
    const metadata = key?.resource.metadata;
    // What no manifest names is the caller's own text.
    const model = this.#context.view.served(asked) === undefined ? undefined : asked;
    return {
      requestId: this.#caller.requestId,
      route: this.route,
      status: this.status,
      durationMs: Math.round(this.durationMs),
      ...(metadata === undefined ? {} : { key: `${metadata.namespace}/${metadata.name}` }),
      ...(model === undefined ? {} : { model }),
      ...(node === undefined ? {} : { node, attempts }),
      ...(failed === undefined ? {} : { failed }),
      ...(error instanceof GatewayError ? { error: error.code, reason: error.message } : {}),
    };
  }
}
