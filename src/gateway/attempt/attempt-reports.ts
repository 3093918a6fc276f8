import type { AttemptMetrics } from '../../observe/attempt-metrics.ts';
import type { Log } from '../../observe/log.ts';
import type { RequestMetrics } from '../../observe/request-metrics.ts';
import type { PickedCandidate } from '../../routing/route.ts';
import type { UpstreamError } from '../../upstream/error.ts';
import { retryAfterSeconds } from '../../upstream/retry-after.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { Asked, Circuits } from './circuits.ts';
import type { Failure } from './failure.ts';

/** Reports how attempts go to the circuits, the metrics and the log. */
export interface AttemptReports {
  /** An answer has begun; one of the next three is called when it ends. */
  began(candidate: PickedCandidate): void;
  /** The answer is complete. */
  ended(candidate: PickedCandidate, status: number): void;
  /** The answer broke off after it had begun; `outcome` says why. */
  broke(candidate: PickedCandidate, outcome: AttemptOutcome, requestId: string, cause?: UpstreamError): void;
  /** The caller left in the middle of the answer. */
  left(candidate: PickedCandidate): void;
  /** The caller left before an answer. */
  abandoned(candidate: PickedCandidate): void;
  /** The attempt failed before its answer began. Returns the text for the log. */
  failed(candidate: PickedCandidate, failure: Failure): string;
  /** After this failure another node is tried. */
  failedOver(failure: Failure): void;
}

/**
 * The circuits for requests that count tokens. A node that cannot be reached concerns every request, but whether it can
 * count says nothing about its answers, and callers count often.
 */
export function circuitsOfCounts(circuits: Circuits): Circuits {
  const saysNothing = (asked: Asked): void => circuits.abandoned(asked);
  return {
    ...circuits,
    began: () => {},
    answered: saysNothing,
    timedOut: saysNothing,
    broke: saysNothing,
  };
}

/** A shortage of the gateway's own is logged once in this time. */
const quietMs = 30_000;

/**
 * Outcomes that leave the circuits as they are: an error in the middle of an answer may be about the request, a long answer
 * is no failure, and an error of the gateway is not the node's.
 */
const saysNothing: ReadonlySet<AttemptOutcome> = new Set(['server_error', 'too_long', 'not_sent']);

/** `now` is in milliseconds since 1970. */
export function createAttemptReports(options: {
  readonly circuits: Circuits;
  readonly counters: AttemptMetrics;
  readonly requests: RequestMetrics;
  readonly log: Log;
  readonly now: () => number;
}): AttemptReports {
  const { circuits, counters, requests, log, now } = options;
  let shortageLoggedMs = Number.NEGATIVE_INFINITY;
  const logShortage = ({ detail }: UpstreamError): void => {
    if (Math.abs(now() - shortageLoggedMs) < quietMs) return;
    shortageLoggedMs = now();
    log.warn({ code: detail }, 'The gateway is short of sockets, ports or memory: requests are not sent');
  };
  return {
    began: (candidate) => circuits.began(candidate),
    ended(candidate, status) {
      circuits.answered(candidate, status);
      counters.attempted(candidate.node.id, 'ok');
    },
    broke(candidate, outcome, requestId, cause) {
      const { node, model } = candidate;
      if (saysNothing.has(outcome)) circuits.abandoned(candidate);
      else circuits.broke(candidate);
      counters.attempted(node.id, outcome);
      const code = cause?.detail === undefined ? {} : { code: cause.detail };
      log.info(
        { requestId, node: node.id, model, outcome, ...code },
        'An answer broke off after it had begun',
      );
    },
    left(candidate) {
      circuits.answered(candidate, 200);
      counters.attempted(candidate.node.id, 'cancelled');
    },
    abandoned(candidate) {
      circuits.abandoned(candidate);
      counters.attempted(candidate.node.id, 'cancelled');
    },
    failed(candidate, failure) {
      const { node } = candidate;
      const { outcome, status, headers, cause } = failure;
      reportToCircuits(circuits, candidate, failure, now());
      counters.attempted(node.id, outcome);
      if (cause?.code === 'local') logShortage(cause);
      const detail = cause?.detail ?? (headers === undefined ? undefined : status);
      return detail === undefined ? `${node.id}: ${outcome}` : `${node.id}: ${outcome} (${detail})`;
    },
    failedOver: ({ outcome }) => requests.failedOver(outcome),
  };
}

/** `now` is in milliseconds since 1970. */
function reportToCircuits(circuits: Circuits, asked: Asked, failure: Failure, now: number): void {
  const { circuit, status, headers, cause } = failure;
  if (circuit === 'timed_out') circuits.timedOut(asked);
  else if (circuit === 'connect_failed') circuits.connectFailed(asked);
  else if (circuit === 'unaffected') circuits.abandoned(asked);
  else {
    // An answer that broke off is as bad as an error of the node.
    const seen = cause === undefined ? status : 502;
    circuits.answered(asked, seen, headers && retryAfterSeconds(headers, now));
  }
}
