import type { ConversionError } from '../../convert/conversion-error.ts';
import type { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamError } from '../../upstream/error.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import { type ErrorCode, GatewayError } from '../errors/errors.ts';

/** Why an attempt gave no answer. `status` is what the caller gets if no other attempt does better. */
export type Failure =
  /** The node answered with an error. `body` is undefined when it is too long or did not come in time. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers: UpstreamHeaders;
      readonly body: Promise<Buffer | undefined>;
    }
  /** The node began a stream, and reported an error before any content. */
  | { readonly kind: 'event'; readonly status: number; readonly fault: UpstreamFault }
  /** A node that was asked in chat-completions for a caller of another format failed; the conversion words it. */
  | {
      readonly kind: 'fault';
      readonly status: number;
      readonly headers: UpstreamHeaders | undefined;
      readonly fault: UpstreamFault | Promise<UpstreamFault>;
      readonly cause: UpstreamError | undefined;
    }
  /** There was no answer to pass on: what the gateway says about it. */
  | { readonly kind: 'none'; readonly error: GatewayError; readonly cause: UpstreamError | undefined };

/** No node could be asked, because the request cannot be said in chat-completions. */
export interface Refused {
  readonly kind: 'refused';
  readonly refusal: ConversionError;
}

/** Why no node answered a request: the last attempt's failure, or there was no attempt. */
export type NoAnswer = Failure | Refused;

/** Statuses below 500 that say nothing of the request: 401 and 403 refuse the gateway's credential, not the caller's. */
const worthAnother: ReadonlySet<number> = new Set([401, 403, 408, 409, 429]);

/** Errors that say nothing of the node: it was not asked, or the gateway had no room for its answer or failed at it. */
const own: ReadonlySet<ErrorCode> = new Set([
  'no_node_available',
  'gateway_busy',
  'key_share_exceeded',
  'internal',
]);

/** Whether an error is the gateway's own trouble, which counts against no node. */
export function isOwnTrouble({ code }: GatewayError): boolean {
  return own.has(code);
}

/** Whether another node may do better: a request that a node calls wrong is wrong everywhere. */
export function isWorthAnother(failure: Failure): boolean {
  // Another node's answer would find no room either, and be paid for.
  if (failure.kind === 'none') return failure.error.code !== 'key_share_exceeded';
  // A redirect is not followed, so it is no answer.
  return failure.status < 400 || failure.status >= 500 || worthAnother.has(failure.status);
}

/** The status says nothing that the caller could act on: it is about the gateway's own dealings with the node. */
export function ownError(status: number): GatewayError | undefined {
  if (status === 401 || status === 403) {
    return new GatewayError(
      'upstream_credential',
      'The model server refused the credential that the gateway has for it.',
    );
  }
  if (status < 400) return new GatewayError('upstream_error', 'The model server answered with a redirect.');
  return undefined;
}

/** A connection that failed or ended too early, as an error of the catalogue. */
export function connectionFailure(cause: UpstreamError): Extract<Failure, { kind: 'none' }> {
  if (cause.code === 'local') {
    const message = `The request was not sent: ${cause.message}; try again shortly.`;
    return { kind: 'none', error: new GatewayError('gateway_busy', message, { cause }), cause };
  }
  const timeout = cause.code.endsWith('_timeout');
  const message = `The model server gave no complete answer: ${cause.message}.`;
  return {
    kind: 'none',
    error: new GatewayError(timeout ? 'upstream_timeout' : 'upstream_error', message, { cause }),
    cause,
  };
}
