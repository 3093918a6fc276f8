import { GatewayError } from '../errors/errors.ts';
import type { Failure } from './failure.ts';

/**
 * How an attempt went: it answers the caller and needs nothing more (the reports hear how that ends), it failed, or the
 * caller left meanwhile.
 */
export type AttemptResult =
  | { readonly kind: 'answering' }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'gone' };

/** A node whose credential went missing after it was picked. */
export const withoutCredential: AttemptResult = {
  kind: 'failed',
  failure: {
    kind: 'none',
    error: new GatewayError('no_node_available', 'The credential of a node is missing.'),
    cause: undefined,
  },
};
