import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { connectionBelowTls, currentResponse } from '../../runtime/node-internals.ts';
import { type ErrorCode, GatewayError } from '../errors/errors.ts';
import { type ErrorShape, errorShapeOf, wireError } from '../errors/wire-errors.ts';
import { endLinger } from './linger.ts';
import { afterAnswers } from './pipeline.ts';

const errors: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['request_too_large', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
};

/** What is told to callers that speak plain HTTP to a port of TLS. */
const plainOnTls = 'This port speaks HTTPS; write https:// in the address.';

type ClientError = Error & { readonly code?: string; readonly rawPacket?: unknown };

/** Longest beginning of a request that is looked at for its path. */
const longestLine = 1024;

/**
 * Answers what is not a request that HTTP knows: garbage, headers that are too large, or that take too long. The shape
 * is that of the path where it can still be seen, else OpenAI's. Whole requests before it on the connection are
 * answered first. The connection is closed behind the answer; what comes on it for `lingerMs` is thrown away.
 */
export function clientErrorAnswers(
  requestId: () => string,
  lingerMs: number,
): (error: ClientError, socket: Socket) => void {
  const refused = new WeakSet<Socket>();
  return (error, socket) => {
    if (/^ERR_(?:SSL|TLS)_/.test(error.code ?? '')) answerTlsError(error, socket, requestId);
    else if (error.code === 'ECONNRESET' || !(socket.writable || refused.has(socket))) socket.destroy();
    else if (!refused.has(socket)) {
      refused.add(socket);
      const answer = clientErrorAnswer(error, requestId());
      afterAnswers(socket, () => refuse(socket, answer, lingerMs));
    }
  };
}

function clientErrorAnswer({ code: cause, rawPacket }: ClientError, id: string): string {
  const known = cause === undefined || !Object.hasOwn(errors, cause) ? undefined : errors[cause];
  const [code, message] = known ?? ['malformed_request', 'The request is not valid HTTP/1.1.'];
  const line = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1', 0, longestLine) : '';
  const shape = errorShapeOf(/^[A-Z]+ (\S+)/.exec(line)?.[1] ?? '/');
  return answerOf(new GatewayError(code, message), shape, id);
}

function refuse(socket: Socket, answer: string, lingerMs: number): void {
  // Closed behind an answer that said so, or because the caller left.
  if (!socket.writable) return;
  // A second answer in the middle of the first would be taken for a part of it.
  if (currentResponse(socket)?.headersSent === true) socket.end();
  else socket.end(answer);
  endLinger(socket, lingerMs, socket);
}

/**
 * There is no TLS to answer through. Who spoke plain HTTP is told in plain HTTP, as other servers do: the bare
 * connection lies below the TLS socket until the end of this event. Others see it close.
 */
function answerTlsError(error: ClientError, socket: Socket, newId: () => string): void {
  const bare = connectionBelowTls(socket);
  if (error.code === 'ERR_SSL_HTTP_REQUEST' && bare?.writable === true) {
    bare.write(answerOf(new GatewayError('malformed_request', plainOnTls), 'openai', newId()));
  }
  socket.destroy();
}

function answerOf(error: GatewayError, shape: ErrorShape, id: string): string {
  const { status, body } = wireError(error, shape, id);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    ...(shape === 'anthropic' ? [`request-id: ${id}`] : []),
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
