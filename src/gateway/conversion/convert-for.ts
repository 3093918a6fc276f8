import type { ConversionError } from '../../convert/conversion-error.ts';
import { isEndpoint } from '../../routing/caller-format.ts';
import type { PickedCandidate } from '../../routing/route.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import type { NodesContext } from '../attempt/nodes-context.ts';
import { Conversion } from './conversion.ts';
import { isLarge, needsNativeLarge, prepareLarge } from './large-conversion.ts';

/** The result of converting a request for a node. */
type Prepared = 'converted' | 'estimate' | ConversionError;

/** The conversion of a request, made when the first node needs it. */
export function conversionOf({ now }: NodesContext, request: ModelRequest): Conversion {
  const { format, key, share, body, inspection } = request;
  if (request.conversion !== undefined) return request.conversion;
  if (format === 'chat' || format === 'embeddings' || isEndpoint(format))
    throw new Error(`${format} is passed through everywhere`);
  const { kind, spec } = key.resource;
  const strict = kind === 'APIKey' && spec.conversion === 'Strict';
  request.conversion = new Conversion(format, body, {
    strict,
    now,
    share,
    // To count tokens, the texts themselves are needed.
    scanned: format === 'count_tokens' ? { ...inspection, longStrings: [] } : inspection,
  });
  return request.conversion;
}

/**
 * Converts a request for a node that does not speak its format. A large one is converted in the thread, and a promise is
 * returned. `estimate`: the node cannot count the tokens; then, and if the conversion is refused, no node is asked. Throws
 * GatewayError.
 */
export function convertFor(
  context: NodesContext,
  request: ModelRequest,
  candidate: PickedCandidate,
): Prepared | Promise<Prepared> {
  let isAttempted = false;
  const prepared = (conversion: Conversion, refusal: ConversionError | undefined): Prepared => {
    isAttempted = refusal === undefined && !conversion.estimates(candidate);
    return isAttempted ? 'converted' : (refusal ?? 'estimate');
  };
  // If no attempt is made, another request may be the probe of the circuit.
  const settled = (): void => {
    if (!isAttempted) context.circuits.abandoned(candidate);
  };
  try {
    const conversion = conversionOf(context, request);
    if (isLarge(request)) {
      return prepareLarge(context.largeWork, request, conversion, candidate)
        .then((refusal) => prepared(conversion, refusal))
        .finally(settled);
    }
    const result = prepared(conversion, conversion.prepare(candidate));
    settled();
    return result;
  } catch (error) {
    settled();
    throw error;
  }
}

/** Whether the conversion of a request would lose something for every node; a promise for a large request. */
export function wantsNative(context: NodesContext, request: ModelRequest): boolean | Promise<boolean> {
  const conversion = conversionOf(context, request);
  return isLarge(request)
    ? needsNativeLarge(context.largeWork, request, conversion)
    : conversion.needsNative();
}
