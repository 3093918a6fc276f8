import { ConversionError } from '../../convert/conversion-error.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import type { Caller } from '../answer/caller.ts';
import { streamError } from '../answer/stream-errors.ts';
import type { Conversion } from '../conversion/conversion.ts';
import { GatewayError } from '../errors/errors.ts';
import { faultBody, isOwnShape } from '../errors/node-error.ts';
import { asFault, errorOf, type Failure, type NoAnswer } from './failure.ts';
import { bodyHeaders, callerHeaders } from './headers.ts';

/**
 * Answers the caller after every attempt failed: with the last node's error or with the gateway's own. A node's error body
 * is sent unchanged if it has the shape that the caller reads, else in that shape. If keep-alives have begun the caller's
 * stream, the error goes into the stream. `headers` (flat) name the node, the attempts and the conversion.
 */
export async function answerFailure(
  caller: Caller,
  { format, conversion }: Pick<ModelRequest, 'format' | 'conversion'>,
  noAnswer: NoAnswer,
  headers: readonly string[],
): Promise<void> {
  if (noAnswer instanceof ConversionError) return answerRefusal(caller, conversion, noAnswer, headers);
  const error = await errorOf(noAnswer);
  const body = await noAnswer.body;
  if (caller.gone) return;
  if (caller.started !== 'nothing') {
    if (conversion?.begun !== true) return caller.end(streamError(format, error, undefined));
    return caller.end(conversion.failedStream(asFault(error)));
  }
  if (error instanceof GatewayError) return caller.answerError(error, [...headers]);
  answerFault(caller, error, noAnswer, body, headers);
}

/** Answers that the request cannot be converted, in the words of the caller's format. */
function answerRefusal(
  caller: Caller,
  conversion: Conversion | undefined,
  refusal: ConversionError,
  headers: readonly string[],
) {
  if (conversion === undefined) {
    return caller.answerError(new GatewayError('invalid_value', refusal.message), [...headers]);
  }
  if (caller.started !== 'nothing') {
    const fault = new UpstreamFault('reported', 'No other node can take this request.');
    return caller.end(conversion.failedStream(fault));
  }
  const { status, body } = conversion.refusal(refusal);
  const named = caller.shape === 'anthropic' ? { ...body, request_id: caller.requestId } : body;
  caller.answerJson(status, JSON.stringify(named), [...headers]);
}

function answerFault(
  caller: Caller,
  fault: UpstreamFault,
  { status, headers, isNative }: Failure,
  body: Buffer | undefined,
  gatewayHeaders: readonly string[],
) {
  const own = [...gatewayHeaders];
  if (headers !== undefined) callerHeaders(headers, own);
  const goesOut = isNative && headers !== undefined && body !== undefined;
  if (!goesOut || !isOwnShape(caller.shape, headers, body)) {
    const worded = faultBody(caller.shape, fault, caller.requestId);
    return caller.answerJson(worded.status, worded.body, own);
  }
  bodyHeaders(headers, own);
  own.push('content-length', String(body.length));
  caller.begin(status, own);
  caller.end(body);
}
