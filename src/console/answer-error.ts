import type { FastifyReply, FastifyRequest } from 'fastify';
import { DeclarationError, type DeclarationErrorReason } from '../cli/edit/declarations.ts';
import { TlsFileError } from '../tls/pem-file.ts';
import { refuse } from './refuse.ts';

const statusOf: Readonly<Record<DeclarationErrorReason, number>> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Forbidden: 403,
  Invalid: 422,
  Unavailable: 503,
};

/** An unexpected error: enough to find its place in the source, without anything from the request. */
export interface ConsoleFailure {
  readonly method: string;
  /** The route's pattern: an address may hold a token. */
  readonly route: string;
  /** The error's class and code, without its message: some messages quote the input. */
  readonly error: string;
  /** Where it was thrown, innermost call first. */
  readonly at: readonly string[];
}

const framePrefix = '    at ';
const mostFrames = 8;

/** Answers with the error that a handler threw. `onFailure` is called for an unexpected one. */
export function answerErrors(onFailure: (failure: ConsoleFailure) => void) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error instanceof DeclarationError) {
      const { reason, message, causes } = error;
      return refuse(reply, statusOf[reason], { reason, message, causes });
    }
    if (error instanceof TlsFileError) {
      return refuse(reply, 503, { reason: 'Unavailable', message: error.message });
    }
    if (error instanceof Error && 'statusCode' in error) {
      const { statusCode: status, message } = error;
      if (typeof status === 'number' && status < 500)
        return refuse(reply, status, { reason: 'Invalid', message });
    }
    onFailure(failureOf(error, request));
    return refuse(reply, 500, { reason: 'Failed', message: 'The console failed; its log says why.' });
  };
}

/** What to report of an unexpected error. */
export function failureOf(error: unknown, { method, routeOptions }: FastifyRequest): ConsoleFailure {
  const route = routeOptions.url ?? 'none';
  if (!(error instanceof Error)) return { method, route, error: typeof error, at: [] };
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  return { method, route, error: error.name + code, at: framesOf(error) };
}

/** The innermost calls. The stack begins with the message, which may hold lines that look like calls. */
function framesOf({ stack = '', message }: Error): string[] {
  const end = stack.indexOf(message);
  const lines = end === -1 ? [] : stack.slice(end + message.length).split('\n');
  return lines
    .filter((line) => line.startsWith(framePrefix))
    .slice(0, mostFrames)
    .map((line) => line.slice(framePrefix.length));
}
