import type { TokenUsage } from '../../observe/request-record.ts';
import type { Candidate } from '../../store/store.ts';
import type { UpstreamError } from '../../upstream/error.ts';
import type { Caller } from '../answer/caller.ts';
import { addTokenUsage } from '../answer/token-usage.ts';
import { GatewayError } from '../errors/errors.ts';
import { quietly } from '../guard.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { AttemptReports } from './attempt-reports.ts';
import { type AttemptResult, type Failure, ownFailure } from './failure.ts';
import type { Place } from './node-loads.ts';

/** The receivers of reports about an attempt. */
export interface AttemptListeners {
  readonly caller: Caller;
  readonly candidate: Candidate;
  /** The circuits, the metrics and the log. */
  readonly reports: AttemptReports;
  /** The attempt's place among the requests under way at the node, left when the attempt ends; undefined if it is not counted. */
  readonly place: Place | undefined;
  /** The loop over nodes. The first call counts. */
  readonly settle: (result: AttemptResult) => void;
}

/** An attempt that can be ended after an error of the gateway's own was thrown. */
export interface Interruptible {
  /** Ends the request to the node. */
  abort(): void;
  /** The last events of the caller's stream if it has begun; undefined breaks the connection. */
  lastWords(error: GatewayError): string | undefined;
}

/** Reports the progress of an attempt, and once its end, to the caller's record, the reports and the loop over nodes. */
export class AttemptEnd {
  readonly #listeners: AttemptListeners;
  #stage: 'asked' | 'answering' | 'over' = 'asked';
  /** Whether this attempt no longer answers the caller: another node may be tried, or the caller left. */
  #isHandedBack = false;

  constructor(listeners: AttemptListeners) {
    this.#listeners = listeners;
  }

  /** From now on this attempt answers the caller, complete or not. */
  answering(): void {
    const { candidate, reports, settle } = this.#listeners;
    this.#stage = 'answering';
    reports.began(candidate);
    settle('answering');
  }

  /** The first content of a stream goes to the caller, and this attempt answers. */
  streaming(): void {
    const { caller } = this.#listeners;
    caller.started = 'answer';
    caller.record?.contentBegan();
    this.answering();
  }

  /** Adds the usage of one answer of the node. */
  used(tokens: TokenUsage | undefined): void {
    const { record } = this.#listeners.caller;
    if (record !== undefined) record.tokens = addTokenUsage(record.tokens, tokens);
  }

  /** The answer is complete. */
  complete(status: number): void {
    const { candidate, reports, place, settle } = this.#listeners;
    this.#stage = 'over';
    place?.leave();
    reports.ended(candidate, status);
    settle('answering');
  }

  /** The answer broke off after it had begun. */
  broke(outcome: AttemptOutcome, cause?: UpstreamError): void {
    const { caller, candidate, place, reports } = this.#listeners;
    this.#stage = 'over';
    place?.leave();
    if (caller.record !== undefined) caller.record.broke = outcome;
    reports.broke(candidate, outcome, caller.requestId, cause);
  }

  /** The attempt failed before its answer began. */
  failed(failure: Failure): void {
    this.#stage = 'over';
    this.#isHandedBack = true;
    this.#listeners.place?.leave();
    this.#listeners.settle(failure);
  }

  /** The caller left. */
  gone(): void {
    const { candidate, reports, place, settle } = this.#listeners;
    place?.leave();
    if (this.#stage === 'answering') reports.left(candidate);
    this.#stage = 'over';
    this.#isHandedBack = true;
    settle('gone');
  }

  /**
   * The gateway's own code threw. If the caller has nothing of the answer yet, another node is tried; else its stream ends with
   * an error, or its connection is broken. Never throws.
   */
  fault(error: unknown, attempt: Interruptible): void {
    const { caller, settle } = this.#listeners;
    caller.caught('answer', error);
    quietly(() => attempt.abort());
    if (this.#isHandedBack) return;
    if (caller.started !== 'answer') {
      this.failed(ownFailure(internalError()));
      return;
    }
    let words: string | undefined;
    quietly(
      () => {
        words = attempt.lastWords(internalError());
      },
      () => caller.interrupt(words),
      () => {
        if (this.#stage !== 'over') this.broke('not_sent');
      },
    );
    settle('answering');
  }
}

/** The error for a fault of the gateway's own. */
export function internalError(): GatewayError {
  return new GatewayError('internal', 'The gateway failed; its log says why.');
}
