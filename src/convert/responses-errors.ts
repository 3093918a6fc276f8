import type { ConvertedError } from './conversion.ts';
import type { ConversionError } from './conversion-error.ts';
import { openAIError, openAIRefusal } from './openai-errors.ts';
import { itemNotFound } from './responses-input.ts';
import type { UpstreamFault } from './upstream-fault.ts';

/** A refused Responses request in OpenAI's shape. */
export function responsesRefusal(error: ConversionError): ConvertedError {
  const refusal = openAIRefusal(error);
  if (error.code !== itemNotFound) return refusal;
  const { sentence: message, param } = error;
  return {
    status: error.status,
    body: { error: { message, type: 'invalid_request_error', param, code: null } },
  };
}

/** A node's failure inside a stream. Codex acts on the code (full context, quota, rate limit): it is always text. */
export function responsesStreamError(fault: UpstreamFault) {
  const { error } = openAIError(fault);
  return { ...error, code: error.code ?? 'server_error' };
}
