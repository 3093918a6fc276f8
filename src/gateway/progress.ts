import type { Log } from '../observe/log.ts';
import type { KeyEntry } from '../store/store.ts';
import type { Caller } from './caller.ts';
import { GatewayError } from './errors.ts';

/** What happened to one request, told when its connection is done with it. */
export interface RequestDone {
  /** The route's pattern, such as `/v1/chat/completions`. */
  readonly route: string;
  /** The model as the last node tried names it; undefined where none was tried. */
  readonly model: string | undefined;
  /** The last node tried, `namespace/name`. */
  readonly node: string | undefined;
  /** The HTTP status; 499 when the caller left. */
  readonly status: number;
  readonly attempts: number;
  readonly durationMs: number;
}

/** Where a request's record goes. */
export interface RecordContext {
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
  readonly onRequestDone: (done: RequestDone) => void;
}

/** The answers that say that no node could do it; 529 is 503 in the Anthropic shape. */
const upstreamTrouble: ReadonlySet<number> = new Set([502, 503, 504, 529]);

/** What is known of a request while it runs; recorded once, when its connection is done with it. */
export class Progress {
  key: KeyEntry | undefined;
  model: string | undefined;
  node: string | undefined;
  /** The model as the last node tried names it. */
  served: string | undefined;
  attempts = 0;
  /** How attempts failed, by node. */
  failed: readonly string[] | undefined;
  error: unknown;
  readonly #context: RecordContext;
  readonly #route: string;
  readonly #caller: Caller;
  readonly #started: number;

  constructor(context: RecordContext, route: string, caller: Caller) {
    this.#context = context;
    this.#route = route;
    this.#caller = caller;
    this.#started = context.clock();
  }

  closed(): void {
    const { log, clock, onRequestDone } = this.#context;
    const { served: model, node, attempts } = this;
    const route = this.#route;
    const durationMs = clock() - this.#started;
    const status = this.#caller.gone ? 499 : this.#caller.status;
    onRequestDone({ route, model, node, status, attempts, durationMs });
    const level = upstreamTrouble.has(status) ? 'warn' : status < 400 && attempts < 2 ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) log[level](this.#fields(status, durationMs), 'Answered a request');
  }

  #fields(status: number, durationMs: number): Record<string, unknown> {
    const { key, model, node, attempts, failed, error } = this;
    const metadata = key?.resource.metadata;
    return {
      requestId: this.#caller.requestId,
      route: this.#route,
      status,
      durationMs: Math.round(durationMs),
      ...(metadata === undefined ? {} : { key: `${metadata.namespace}/${metadata.name}` }),
      ...(model === undefined ? {} : { model }),
      ...(node === undefined ? {} : { node, attempts }),
      ...(failed === undefined ? {} : { failed }),
      ...(error instanceof GatewayError ? { error: error.code, reason: error.message } : {}),
    };
  }
}
