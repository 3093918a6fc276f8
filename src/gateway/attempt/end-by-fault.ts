import type { Caller } from '../answer/caller.ts';
import { GatewayError } from '../errors/errors.ts';
import { quietly } from '../guard.ts';
import { type AttemptResult, ownFailure } from './failure.ts';

/** An attempt that an error of the gateway's own interrupted. */
export interface Interrupted {
  /** Ends the request to the node. */
  abort(): void;
  /** The last events of the caller's stream if it has begun; undefined breaks the connection. */
  lastWords(error: GatewayError): string | undefined;
  /** Reports that an answer broke off after it had begun. */
  broke(): void;
}

/**
 * Ends an attempt in which `error` was thrown. If the caller has nothing of the answer yet, another node is tried; else its
 * stream ends with an error, or its connection is broken. Never throws.
 */
export function endByFault(
  error: unknown,
  { caller, settle }: { readonly caller: Caller; readonly settle: (result: AttemptResult) => void },
  attempt: Interrupted,
): void {
  caller.caught('answer', error);
  quietly(() => attempt.abort());
  if (caller.started !== 'answer') {
    settle(ownFailure(internalError()));
    return;
  }
  let words: string | undefined;
  quietly(
    () => {
      words = attempt.lastWords(internalError());
    },
    () => caller.interrupt(words),
    () => attempt.broke(),
  );
  settle('answering');
}

/** The error for a fault of the gateway's own. */
export function internalError(): GatewayError {
  return new GatewayError('internal', 'The gateway failed; its log says why.');
}
