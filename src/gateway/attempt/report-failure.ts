import type { UpstreamError } from '../../upstream/error.ts';
import { retryAfterSeconds } from '../../upstream/retry-after.ts';
import type { Asked, Circuits } from './circuits.ts';
import { type Failure, isOwnTrouble } from './failure.ts';

/** Tells the circuits how an attempt failed. `now` is in milliseconds since 1970. */
export function reportFailure(circuits: Circuits, asked: Asked, failure: Failure, now: number): void {
  switch (failure.kind) {
    case 'status':
      circuits.answered(asked, failure.status, retryAfterSeconds(failure.headers, now));
      break;
    case 'event':
      circuits.answered(asked, failure.status);
      break;
    case 'fault':
      if (failure.cause !== undefined) {
        reportBroken(circuits, asked, failure.cause);
      } else {
        const retryAfter = failure.headers && retryAfterSeconds(failure.headers, now);
        circuits.answered(asked, failure.status, retryAfter);
      }
      break;
    case 'none':
      if (failure.cause !== undefined) reportBroken(circuits, asked, failure.cause);
      // The gateway's own trouble: it says nothing of the node.
      else if (isOwnTrouble(failure.error)) circuits.abandoned(asked);
      else circuits.answered(asked, 502);
      break;
  }
}

function reportBroken(circuits: Circuits, asked: Asked, { code, answered }: UpstreamError): void {
  if (code === 'local') {
    circuits.abandoned(asked);
  } else if (code === 'first_byte_timeout' || code === 'idle_timeout' || code === 'total_timeout') {
    circuits.timedOut(asked);
  } else if (answered) {
    circuits.answered(asked, 502);
  } else {
    circuits.connectFailed(asked);
  }
}
