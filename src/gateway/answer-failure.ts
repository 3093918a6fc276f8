import type { Caller } from './caller.ts';
import { GatewayError } from './errors.ts';
import { type Failure, ownError } from './failure.ts';
import { bodyHeaders, callerHeaders } from './headers.ts';
import type { CallerFormat } from './route.ts';
import { streamError } from './stream-errors.ts';
import { errorBody } from './wire-errors.ts';

/**
 * Answers the caller after every attempt failed: with the last node's own error as it came, or with what the gateway
 * has to say. Once keep-alives have flowed the error goes into the stream. `headers` (flat) name node and attempts.
 */
export async function answerFailure(
  caller: Caller,
  format: CallerFormat,
  failure: Failure,
  headers: readonly string[],
) {
  const error = errorOf(failure);
  if (failure.kind === 'status') {
    const body = await failure.body;
    if (caller.gone) return;
    if (caller.started === 'nothing' && ownError(failure.status) === undefined) {
      return answerStatus(caller, failure, body, headers);
    }
  }
  if (caller.started !== 'nothing') return caller.end(streamError(format, error, undefined));
  if (failure.kind === 'event' && ownError(failure.status) === undefined) {
    return caller.answerJson(failure.status, failure.body, [...headers]);
  }
  caller.answerError(error, [...headers]);
}

function answerStatus(
  caller: Caller,
  { status, headers }: Extract<Failure, { kind: 'status' }>,
  body: Buffer | undefined,
  gatewayHeaders: readonly string[],
) {
  const own = [...gatewayHeaders, ...callerHeaders(headers)];
  if (body === undefined) {
    return caller.answerJson(status, errorBody(statusError(status), caller.shape, caller.requestId), own);
  }
  own.push(...bodyHeaders(headers), 'content-length', String(body.length));
  caller.begin(status, own);
  caller.end(body);
}

function errorOf(failure: Failure): GatewayError {
  if (failure.kind === 'none') return failure.error;
  return ownError(failure.status) ?? statusError(failure.status);
}

function statusError(status: number): GatewayError {
  return new GatewayError('upstream_error', `The model server answered with status ${status}.`);
}
