import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import type { Caller } from '../answer/caller.ts';
import { streamError } from '../answer/stream-errors.ts';
import { type Failure, type NoAnswer, ownError } from '../attempt/failure.ts';
import { bodyHeaders, callerHeaders } from '../attempt/headers.ts';
import type { Conversion } from '../conversion/conversion.ts';
import { GatewayError } from './errors.ts';
import { faultBody, isOwnShape, nodeFault } from './node-error.ts';

/**
 * Answers the caller after every attempt failed: with the last node's own error, as it came where the caller's family
 * of clients reads it so and else in their words, or with what the gateway has to say. Once keep-alives have flowed the error goes into the stream. `headers` (flat) name node and attempts.
 */
export async function answerFailure(
  caller: Caller,
  { format, conversion }: Pick<ModelRequest, 'format' | 'conversion'>,
  failure: NoAnswer,
  headers: readonly string[],
) {
  if (conversion !== undefined && (failure.kind === 'fault' || failure.kind === 'refused')) {
    return answerConverted(caller, conversion, failure, headers);
  }
  const sent = failure.kind === 'status' ? await failure.body : undefined;
  if (caller.gone) return;
  const error = errorOf(failure, sent);
  if (caller.started !== 'nothing') {
    if (conversion?.begun !== true) return caller.end(streamError(format, error, undefined));
    return caller.end(conversion.failedStream(error instanceof UpstreamFault ? error : interrupted(error)));
  }
  if (error instanceof GatewayError) return caller.answerError(error, [...headers]);
  if (failure.kind === 'event') {
    const { status, body } = faultBody(caller.shape, error, caller.requestId);
    return caller.answerJson(status, body, [...headers]);
  }
  if (failure.kind === 'status') answerStatus(caller, failure, error, sent, headers);
}

/** A failure in the words of the caller's format, which the conversion knows. */
async function answerConverted(
  caller: Caller,
  conversion: Conversion,
  failure: Extract<NoAnswer, { kind: 'fault' | 'refused' }>,
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
  fault: UpstreamFault,
  body: Buffer | undefined,
  gatewayHeaders: readonly string[],
) {
  const own = [...gatewayHeaders, ...callerHeaders(headers)];
  if (body === undefined || !isOwnShape(caller.shape, headers, body)) {
    const wrapped = faultBody(caller.shape, fault, caller.requestId);
    return caller.answerJson(wrapped.status, wrapped.body, own);
  }
  own.push(...bodyHeaders(headers), 'content-length', String(body.length));
  caller.begin(status, own);
  caller.end(body);
}

/** What the gateway has to say, or what the node said where that may be told. */
function errorOf(failure: NoAnswer, body: Buffer | undefined): GatewayError | UpstreamFault {
  if (failure.kind === 'none') return failure.error;
  if (failure.kind === 'refused') return new GatewayError('invalid_value', failure.refusal.message);
  const own = ownError(failure.status);
  if (own !== undefined) return own;
  if (failure.kind === 'event') return failure.fault;
  if (failure.kind === 'status') return nodeFault(failure.status, failure.headers, body);
  return new GatewayError('upstream_error', `The model server answered with status ${failure.status}.`);
}

function interrupted({ message, entry: { status } }: GatewayError): UpstreamFault {
  return new UpstreamFault('interrupted', message, { status });
}
