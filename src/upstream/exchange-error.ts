import { errors } from 'undici';
import { UpstreamError } from './error.ts';

/** Whether the connection went away without a word of HTTP. */
export function isClosedByPeer(cause: Error): boolean {
  return cause instanceof errors.SocketError || codeOf(cause) === 'ECONNRESET' || codeOf(cause) === 'EPIPE';
}

/** What a failed exchange means. `answered`: the response head had arrived. */
export function exchangeError(cause: Error, answered: boolean): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  if (cause instanceof errors.HeadersTimeoutError) {
    return new UpstreamError('first_byte_timeout', answered, undefined, cause);
  }
  if (cause instanceof errors.BodyTimeoutError)
    return new UpstreamError('idle_timeout', answered, undefined, cause);
  if (cause instanceof errors.HeadersOverflowError)
    return new UpstreamError('too_large', answered, undefined, cause);
  if (cause instanceof errors.InvalidArgumentError) {
    return new UpstreamError('protocol', answered, 'a request header or the path cannot be sent', cause);
  }
  const code = codeOf(cause);
  // The body ended before its announced length, or in the middle of a chunk.
  const cutShort =
    cause instanceof errors.ResponseContentLengthMismatchError || code === 'HPE_INVALID_EOF_STATE';
  if (!cutShort && code?.startsWith('HPE_')) return new UpstreamError('protocol', answered, code, cause);
  return new UpstreamError('reset', answered, undefined, cause);
}

function codeOf(cause: Error): string | undefined {
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}
