import type { Socket } from 'node:net';
import { type ErrorCode, GatewayError } from './errors.ts';
import { wireError } from './wire-errors.ts';

const errors: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['request_too_large', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
};

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
};

/**
 * Answers what is not a request that HTTP knows: garbage, headers that are too large, or that take too long. There is
 * no route yet, so the shape is OpenAI's.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const known =
    error.code === undefined || !Object.hasOwn(errors, error.code) ? undefined : errors[error.code];
  const [code, message] = known ?? ['malformed_request', 'The request is not valid HTTP/1.1.'];
  const { status, body } = wireError(new GatewayError(code, message), 'openai', '');
  const head = `HTTP/1.1 ${status} ${reasons[status] ?? 'Error'}\r\ncontent-type: application/json; charset=utf-8\r\n`;
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
}

/** A second answer in the middle of the first would be taken for a part of it. node:http keeps it on the socket. */
function isAnswering(socket: Socket): boolean {
  const { _httpMessage: response } = socket as { _httpMessage?: { headersSent?: boolean } | null };
  return response?.headersSent === true;
}
