import { parseJson } from '../../convert/json.ts';
import { countTokensReply, readTokenizeReply } from '../../convert/messages-count.ts';
import { UpstreamError } from '../../upstream/error.ts';
import { send } from '../../upstream/send.ts';
import { hopsHeader, nextHop } from '../admission/hops.ts';
import type { Caller, CallerListener } from '../answer/caller.ts';
import { CollectedAnswer } from '../answer/collected-answer.ts';
import { AttemptEnd, type Interruptible } from '../attempt/attempt-end.ts';
import { badAnswer, connectionFailure, type Failure } from '../attempt/failure.ts';
import { guarded } from '../guard.ts';
import type { Conversion } from './conversion.ts';
import type { ConvertedOptions } from './converted-request.ts';

/** Longest time to wait for a count. The estimate takes no time, and callers count often. */
const patienceMs = 10_000;

/** Answers a count of tokens with an estimate; a header says so. */
export function answerEstimate(caller: Caller, conversion: Conversion): void {
  answerCount(caller, conversion.estimate(), conversion.headers);
}

/**
 * An attempt to let a node's `/tokenize` count. If that fails, the answer is the estimate: it is better than an error about
 * a request that the caller did not make.
 */
export class NodeCount implements CallerListener, Interruptible {
  readonly #options: ConvertedOptions;
  readonly #end: AttemptEnd;
  readonly #answer: CollectedAnswer;
  readonly #timer: NodeJS.Timeout;
  #over = false;

  constructor(options: ConvertedOptions) {
    const { pool, connection, caller, conversion, span } = options;
    this.#options = options;
    this.#end = new AttemptEnd(options);
    caller.listener = this;
    const body = conversion.tokenizeBody();
    const own = ['content-type', 'application/json', hopsHeader, nextHop(caller.request.headers)];
    const headers = span === undefined ? own : span.headers(own);
    this.#timer = setTimeout(
      guarded(this, () => this.#estimate(connectionFailure(new UpstreamError('first_byte_timeout', false)))),
      patienceMs,
    );
    this.#answer = new CollectedAnswer(
      (handler) => send(pool, connection, { method: 'POST', path: '/tokenize', headers, body }, handler),
      options,
      {
        answered: (bytes) => {
          options.share.give(bytes.length);
          this.#count(bytes);
        },
        failed: (error) => this.failed(error),
        failedWith: (failure) => this.#estimate(failure),
      },
    );
  }

  drained(): void {}

  silent(): void {}

  gone(): void {
    if (this.#over) return;
    this.#stop();
    this.#end.gone();
  }

  failed(error: unknown): void {
    this.#end.fault(error, this);
  }

  abort(): void {
    this.#stop();
  }

  /** A count is one JSON text: it can only be broken off. */
  lastWords(): undefined {}

  #count(bytes: Buffer) {
    const tokens = readTokenizeReply(parseJson(bytes.toString('utf8')));
    if (tokens === undefined) return this.#estimate(unreadable);
    this.#stop();
    const { caller, headers } = this.#options;
    answerCount(caller, tokens, headers);
    this.#end.complete(200);
  }

  #estimate(failure: Failure) {
    if (this.#over) return;
    this.#stop();
    const { caller, conversion, candidate, place, reports, settle } = this.#options;
    conversion.name = 'count_tokens->estimate';
    if (caller.record !== undefined) caller.record.conversion = conversion.name;
    answerEstimate(caller, conversion);
    place?.leave();
    reports.failed(candidate, failure);
    settle('answering');
  }

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#answer.abort();
  }
}

const unreadable = badAnswer('The model server gave no count.');

function answerCount(caller: Caller, tokens: number, headers: readonly string[]): void {
  caller.answerJson(200, JSON.stringify(countTokensReply(tokens)), [...headers]);
}
