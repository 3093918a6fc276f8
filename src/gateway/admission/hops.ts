import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../errors/errors.ts';

/** The header that counts the gateways that a request has passed. */
export const hopsHeader = 'x-model-gateway-hops';

/**
 * The hop count that a node is sent: one more than the request came with. Throws GatewayError
 * `loop_detected` after two gateways. A value that is not a count is refused and not treated as absent: otherwise a loop
 * would continue if a proxy merges or rewrites the header.
 */
export function nextHop(headers: IncomingHttpHeaders): string {
  const passed = headers[hopsHeader];
  if (passed === undefined || passed === '0') return '1';
  if (passed === '1') return '2';
  if (typeof passed !== 'string' || !/^[1-9]\d*$/.test(passed)) {
    throw new GatewayError(
      'invalid_value',
      `The header ${hopsHeader} must be a whole number; only gateways set it, so leave it out.`,
    );
  }
  throw new GatewayError(
    'loop_detected',
    'The request has passed through two gateways already: a node leads back to a gateway. Ask the administrator to remove that node.',
  );
}
