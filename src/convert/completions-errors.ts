import type { ConvertedError } from './conversion.ts';
import type { ConversionError } from './conversion-error.ts';
import { openAIFailure, openAIRefusal } from './openai-errors.ts';
import type { UpstreamFault } from './upstream-fault.ts';

/** A refused completions request in OpenAI's shape. */
export function completionsRefusal(error: ConversionError): ConvertedError {
  return openAIRefusal(error);
}

/** A node's failure as an HTTP answer in OpenAI's shape. */
export function completionsFailure(fault: UpstreamFault): ConvertedError {
  return openAIFailure(fault);
}
