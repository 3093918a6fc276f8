import { errors } from 'undici';
import { UpstreamError } from './error.ts';

/** Whether the connection went away without a word of HTTP. */
export function isClosedByPeer(cause: Error): boolean {
  return cause instanceof errors.SocketError || codeOf(cause) === 'ECONNRESET' || codeOf(cause) === 'EPIPE';
}

/** What a failed exchange means. `answered`: the response head had arrived. */
export function exchangeError(cause: Error, answered: boolean): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  if (cause instanceof errors.HeadersTimeoutError) return new UpstreamError('first_byte_timeout', answered);
  if (cause instanceof errors.BodyTimeoutError) return new UpstreamError('idle_timeout', answered);
  if (cause instanceof errors.HeadersOverflowError) return new UpstreamError('too_large', answered);
  if (cause instanceof errors.InvalidArgumentError) {
    return new UpstreamError('protocol', answered, 'a request header or the path cannot be sent');
  }
  return new UpstreamError(breaksProtocol(cause, answered) ? 'protocol' : 'reset', answered);
}

function breaksProtocol(cause: Error, answered: boolean): boolean {
  // undici meant to give these a code, but it is always undefined. The parser stops at the byte that is
  // wrong; with none left the connection ended in the middle of a chunk.
  if (cause instanceof errors.HTTPParserError) return 'data' in cause && cause.data !== '';
  // After the head: the body ended before its announced length. Before it: two lengths in one head.
  return cause instanceof errors.ResponseContentLengthMismatchError && !answered;
}

function codeOf(cause: Error): string | undefined {
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}
