import { UpstreamFault } from '../convert/upstream-fault.ts';
import type { Caller } from './caller.ts';
import type { Conversion } from './conversion.ts';
import { GatewayError } from './errors.ts';
import { type Failure, ownError } from './failure.ts';
import { bodyHeaders, callerHeaders } from './headers.ts';
import { streamError } from './stream-errors.ts';
import type { ModelRequest } from './try-nodes.ts';
import { errorBody } from './wire-errors.ts';

/**
 * Answers the caller after every attempt failed: with the last node's own error as it came, or with what the gateway
 * has to say. Once keep-alives have flowed the error goes into the stream. `headers` (flat) name node and attempts.
 */
export async function answerFailure(
  caller: Caller,
  { format, conversion }: Pick<ModelRequest, 'format' | 'conversion'>,
  failure: Failure,
  headers: readonly string[],
) {
  if (conversion !== undefined && (failure.kind === 'fault' || failure.kind === 'refused')) {
    return answerConverted(caller, conversion, failure, headers);
  }
  const error = errorOf(failure);
  if (failure.kind === 'status') {
    const body = await failure.body;
    if (caller.gone) return;
    if (caller.started === 'nothing' && ownError(failure.status) === undefined) {
      return answerStatus(caller, failure, body, headers);
    }
  }
  if (caller.started !== 'nothing') {
    if (conversion?.begun !== true) return caller.end(streamError(format, error, undefined));
    const { status } = error.entry;
    return caller.end(conversion.failedStream(new UpstreamFault('interrupted', error.message, { status })));
  }
  if (failure.kind === 'event' && ownError(failure.status) === undefined) {
    return caller.answerJson(failure.status, failure.body, [...headers]);
  }
  caller.answerError(error, [...headers]);
}

/** A failure in the words of the caller's format, which the conversion knows. */
async function answerConverted(
  caller: Caller,
  conversion: Conversion,
  failure: Extract<Failure, { kind: 'fault' | 'refused' }>,
  gatewayHeaders: readonly string[],
) {
  const fault = failure.kind === 'fault' ? await failure.fault : undefined;
  if (caller.gone) return;
  if (caller.started !== 'nothing') {
    const said = fault ?? new UpstreamFault('reported', 'No other node can take this request.');
    return caller.end(conversion.failedStream(said));
  }
  const { status, body } =
    failure.kind === 'refused'
      ? conversion.refusal(failure.refusal)
      : conversion.failure(await failure.fault);
  const own = [...gatewayHeaders];
  if (failure.kind === 'fault') {
    own.push(...conversion.headers);
    if (failure.headers !== undefined) own.push(...callerHeaders(failure.headers));
  }
  const named = caller.shape === 'anthropic' ? { ...body, request_id: caller.requestId } : body;
  caller.answerJson(status, JSON.stringify(named), own);
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
  if (failure.kind === 'refused') return new GatewayError('invalid_value', failure.refusal.message);
  return ownError(failure.status) ?? statusError(failure.status);
}

function statusError(status: number): GatewayError {
  return new GatewayError('upstream_error', `The model server answered with status ${status}.`);
}
