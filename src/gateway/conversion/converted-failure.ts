import { readUpstreamError } from '../../convert/upstream-error.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamConnection } from '../../upstream/connection.ts';
import type { UpstreamError } from '../../upstream/error.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import { maskText } from '../../upstream/mask-credentials.ts';
import { connectionFailure, type Failure, ownError } from '../attempt/failure.ts';

/** A node that was asked in chat-completions answered with an error status. */
export function statusFault(
  status: number,
  headers: UpstreamHeaders,
  body: Promise<Buffer | undefined>,
): Failure {
  const own = ownError(status);
  const fault =
    own === undefined
      ? body.then((bytes) => readUpstreamError(status, bytes?.toString('utf8') ?? ''))
      : new UpstreamFault('reported', own.message, { status: own.entry.status });
  return { kind: 'fault', status, headers, fault, cause: undefined };
}

/** Its answer had status 200 and was none. */
export function answerFault(fault: UpstreamFault, headers: UpstreamHeaders | undefined): Failure {
  const own = fault.status >= 400 ? ownError(fault.status) : undefined;
  const shown =
    own === undefined ? fault : new UpstreamFault('reported', own.message, { status: own.entry.status });
  return { kind: 'fault', status: fault.status, headers, fault: shown, cause: undefined };
}

/** A fault that the node has reported, without the credentials of its connection. */
export function maskFault(fault: UpstreamFault, connection: UpstreamConnection): UpstreamFault {
  const message = maskText(fault.message, connection);
  return message === fault.message ? fault : new UpstreamFault(fault.kind, message, fault);
}

/** Its connection failed before the answer was complete. */
export function connectionFault(cause: UpstreamError): Extract<Failure, { kind: 'fault' }> {
  const fault = cutBy(cause);
  return { kind: 'fault', status: fault.status, headers: undefined, fault, cause };
}

/** How a connection's end looks from inside an answer. */
export function cutBy(cause: UpstreamError): UpstreamFault {
  const { error } = connectionFailure(cause);
  if (cause.code === 'local')
    return new UpstreamFault('interrupted', error.message, { status: error.entry.status });
  return new UpstreamFault(error.code === 'upstream_timeout' ? 'timeout' : 'interrupted', error.message);
}
