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

/** The answer to callers that speak plain HTTP to a TLS port. */
const plainOnTls = 'This port speaks HTTPS; write https:// in the address.';

type ClientError = Error & { readonly code?: string; readonly rawPacket?: unknown };

/** Only this many bytes of a request are searched for its path. */
const longestLine = 1024;

/**
 * Answers what node:http cannot parse: bytes that are not HTTP, headers that are too large or too slow. The error has the
 * shape of the path if the path can be read, else OpenAI's. Complete requests before it on the connection are answered
 * first. The connection is closed after the answer; bytes that arrive during `lingerMs` are discarded.
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
  // Closed after an answer with `connection: close`, or by the caller.
  if (!socket.writable) return;
  // The first answer has begun, so the caller would read an error as a part of it.
  if (currentResponse(socket)?.headersSent === true) socket.end();
  else socket.end(answer);
  endLinger(socket, lingerMs, socket);
}

/**
 * The TLS handshake failed, so no answer can be encrypted. A caller that sent plain HTTP is answered in plain HTTP, as
 * other servers do: the TCP connection can be used until the end of this event. For others the connection closes.
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
