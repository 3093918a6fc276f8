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

/** Turns what a handler threw into an answer. */
export function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof DeclarationError) {
    const { reason, message, causes } = error;
    return refuse(reply, statusOf[reason], { reason, message, causes });
  }
  if (error instanceof TlsFileError) {
    return refuse(reply, 503, { reason: 'Unavailable', message: error.message });
  }
  const status = (error as { statusCode?: unknown }).statusCode;
  if (typeof status === 'number' && status < 500) {
    return refuse(reply, status, { reason: 'Invalid', message: (error as Error).message });
  }
  return refuse(reply, 500, { reason: 'Failed', message: 'The console failed; its log says why.' });
}
