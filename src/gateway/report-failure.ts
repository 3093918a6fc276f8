import type { UpstreamError } from '../upstream/error.ts';
import { retryAfterSeconds } from '../upstream/retry-after.ts';
import type { Circuits } from './circuits.ts';
import { type Failure, isOwnTrouble } from './failure.ts';

/** Tells the circuits how an attempt failed. `now` is in milliseconds since 1970. */
export function reportFailure(
  circuits: Circuits,
  node: string,
  model: string,
  failure: Failure,
  now: number,
): void {
  switch (failure.kind) {
    case 'status':
      circuits.answered(node, model, failure.status, retryAfterSeconds(failure.headers, now));
      break;
    case 'event':
      circuits.answered(node, model, failure.status);
      break;
    case 'fault':
      if (failure.cause !== undefined) {
        reportBroken(circuits, node, model, failure.cause);
      } else {
        const retryAfter = failure.headers && retryAfterSeconds(failure.headers, now);
        circuits.answered(node, model, failure.status, retryAfter);
      }
      break;
    case 'none':
      if (failure.cause !== undefined) reportBroken(circuits, node, model, failure.cause);
      // The gateway's own trouble: it says nothing of the node.
      else if (isOwnTrouble(failure.error)) circuits.abandoned(node, model);
      else circuits.answered(node, model, 502);
      break;
  }
}

function reportBroken(
  circuits: Circuits,
  node: string,
  model: string,
  { code, answered }: UpstreamError,
): void {
  if (code === 'local') {
    circuits.abandoned(node, model);
  } else if (code === 'first_byte_timeout' || code === 'idle_timeout' || code === 'total_timeout') {
    circuits.timedOut(node, model);
  } else if (answered) {
    circuits.answered(node, model, 502);
  } else {
    circuits.connectFailed(node, model);
  }
}
