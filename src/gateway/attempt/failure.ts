import type { ConversionError } from '../../convert/conversion-error.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamError } from '../../upstream/error.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import { GatewayError } from '../errors/errors.ts';
import { nodeFault } from '../errors/node-error.ts';
import { type FailedOutcome, outcomeOfError, outcomeOfStatus } from './attempt-outcome.ts';

/**
 * Why an attempt gave no answer. The record is made where the attempt ends; the loop over nodes, the circuits, the
 * metrics, the log and the answer to the caller read it and decide nothing of their own.
 */
export interface Failure {
  /** How the attempt ended, for metrics, logs and spans. */
  readonly outcome: FailedOutcome;
  /** What the node's circuits learn: it answered with `status`, was too slow, could not be reached, or nothing. */
  readonly circuit: 'answered' | 'timed_out' | 'connect_failed' | 'unaffected';
  /** The HTTP status of the node's answer, else the status that fits. */
  readonly status: number;
  /** Whether another node may do better: a request that one node calls wrong is wrong everywhere. */
  readonly isWorthAnother: boolean;
  /** An error of the gateway's own, or what the node reported in an answer of status 200; else `body` has it. */
  readonly error: GatewayError | UpstreamFault | undefined;
  /** The head of the node's answer, if there was one. */
  readonly headers: UpstreamHeaders | undefined;
  /** The body of an error status; resolves with undefined if it is too long or did not come in time. */
  readonly body: Promise<Buffer | undefined> | undefined;
  /** Whether the node was asked in the caller's format, so that the body may go out as it came. */
  readonly isNative: boolean;
  /** The connection's error, if the connection failed. */
  readonly cause: UpstreamError | undefined;
}

/** How an attempt went: it answers the caller, the caller left, or it failed. `reports` say how an answer ends. */
export type AttemptResult = 'answering' | 'gone' | Failure;

/** Why no node answered a request: the last attempt's failure, or no node could be asked. */
export type NoAnswer = Failure | ConversionError;

const nothingCame = { headers: undefined, body: undefined, isNative: false, cause: undefined };

/** The node answered with an error status. */
export function statusFailure(
  status: number,
  headers: UpstreamHeaders,
  body: Promise<Buffer | undefined>,
  isNative: boolean,
): Failure {
  return {
    outcome: outcomeOfStatus(status),
    circuit: 'answered',
    status,
    isWorthAnother: isWorthAnother(status),
    error: ownError(status),
    headers,
    body,
    isNative,
    cause: undefined,
  };
}

/** The node's answer had status 200 and reports an error, or is no answer. */
export function faultFailure(fault: UpstreamFault, headers: UpstreamHeaders | undefined): Failure {
  const { kind, status } = fault;
  return {
    ...nothingCame,
    outcome: kind === 'reported' ? outcomeOfStatus(status) : 'bad_answer',
    circuit: 'answered',
    status,
    isWorthAnother: isWorthAnother(status),
    error: (status >= 400 ? ownError(status) : undefined) ?? fault,
    headers,
  };
}

/** The connection failed, or ended before the answer was complete. */
export function connectionFailure(cause: UpstreamError): Failure {
  const error = connectionError(cause);
  return {
    ...nothingCame,
    outcome: outcomeOfError(cause),
    circuit: circuitOf(cause),
    status: error.entry.status,
    isWorthAnother: true,
    error,
    cause,
  };
}

/** What the node sent is not an answer; `message` says why. */
export function badAnswer(message: string): Failure {
  const error = new GatewayError('upstream_error', message);
  return {
    ...nothingCame,
    outcome: 'bad_answer',
    circuit: 'answered',
    status: 502,
    isWorthAnother: true,
    error,
  };
}

/** The gateway could not ask a node, had no memory for its answer, or failed itself: that counts against no node. */
export function ownFailure(error: GatewayError): Failure {
  return {
    ...nothingCame,
    outcome: 'not_sent',
    circuit: 'unaffected',
    status: error.entry.status,
    // There would be no memory for another node's answer either, and that answer would cost money.
    isWorthAnother: error.code !== 'key_share_exceeded',
    error,
  };
}

/** A node's credential disappeared after the node was picked. */
export const withoutCredential = ownFailure(
  new GatewayError('no_node_available', 'The credential of a node is missing.'),
);

/** The error for the caller after a failure: the gateway's own, or the node's in no format yet. */
export async function errorOf({
  error,
  status,
  headers,
  body,
}: Failure): Promise<GatewayError | UpstreamFault> {
  return error ?? nodeFault(status, headers, await body);
}

/** The error of a connection that failed or ended too early. */
export function connectionError(cause: UpstreamError): GatewayError {
  if (cause.code === 'local') {
    const message = `The request was not sent: ${cause.message}; try again shortly.`;
    return new GatewayError('gateway_busy', message, { cause });
  }
  const code = cause.code.endsWith('_timeout') ? 'upstream_timeout' : 'upstream_error';
  return new GatewayError(code, `The model server gave no complete answer: ${cause.message}.`, { cause });
}

/** An error as a fault, for streams that end with one. */
export function asFault(error: GatewayError | UpstreamFault): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  const { message, code, entry } = error;
  const kind = code === 'upstream_timeout' ? 'timeout' : 'interrupted';
  return new UpstreamFault(kind, message, { status: entry.status });
}

/** Statuses below 500 that do not judge the request: 401 and 403 refuse the gateway's credential, not the caller's. */
const worthAnother: ReadonlySet<number> = new Set([401, 403, 408, 409, 429]);

/** A redirect is not followed, so it is no answer. */
function isWorthAnother(status: number): boolean {
  return status < 400 || status >= 500 || worthAnother.has(status);
}

/** The gateway's own error for a status about its dealings with the node, which the caller could not act on. */
function ownError(status: number): GatewayError | undefined {
  if (status === 401 || status === 403) {
    return new GatewayError(
      'upstream_credential',
      'The model server refused the credential that the gateway has for it.',
    );
  }
  if (status < 400) return new GatewayError('upstream_error', 'The model server answered with a redirect.');
  return undefined;
}

function circuitOf({ code, answered }: UpstreamError): Failure['circuit'] {
  if (code === 'local') return 'unaffected';
  if (code === 'first_byte_timeout' || code === 'idle_timeout' || code === 'total_timeout')
    return 'timed_out';
  return answered ? 'answered' : 'connect_failed';
}
