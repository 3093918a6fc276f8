import type { ConversionError } from '../../convert/conversion-error.ts';
import type { PickedCandidate } from '../../routing/route.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import type { NodesContext } from '../attempt/nodes-context.ts';
import { Conversion } from './conversion.ts';

/** The conversion of a request, made when the first node needs it. */
export function conversionOf({ now }: NodesContext, request: ModelRequest): Conversion {
  const { format, key, share, body, inspection } = request;
  if (request.conversion !== undefined) return request.conversion;
  if (format === 'chat' || format === 'embeddings') throw new Error(`${format} is passed through everywhere`);
  const { kind, spec } = key.resource;
  const strict = kind === 'APIKey' && spec.conversion === 'Strict';
  request.conversion = new Conversion(format, body.bytes, {
    strict,
    now,
    share,
    // To be counted, texts must be there.
    scanned: format === 'count_tokens' ? { ...inspection, longStrings: [] } : inspection,
  });
  return request.conversion;
}

/**
 * Converts a request for a node that does not speak its format. `estimate` where tokens are to be counted and the node
 * cannot do that: then, as where the conversion is refused, nobody is asked. Throws GatewayError.
 */
export function convertFor(
  context: NodesContext,
  request: ModelRequest,
  candidate: PickedCandidate,
): 'converted' | 'estimate' | ConversionError {
  // Where no attempt is made, which was to be a probe, another request may be it.
  let isAttempted = false;
  try {
    const conversion = conversionOf(context, request);
    const refusal = conversion.prepare(candidate);
    isAttempted = refusal === undefined && !conversion.estimates(candidate);
    return isAttempted ? 'converted' : (refusal ?? 'estimate');
  } finally {
    if (!isAttempted) context.circuits.abandoned(candidate);
  }
}
