import type { Claims } from '../store/claims.ts';
import type { Reconcile } from './reconciler.ts';

/** The reconcile, except that it does nothing in a namespace that another installation serves. */
export function servedHere(claims: Claims | undefined, reconcile: Reconcile): Reconcile {
  if (claims === undefined) return reconcile;
  return async (id, context) => {
    const [namespace = ''] = id.split('/', 1);
    return claims.acts(namespace) ? reconcile(id, context) : {};
  };
}
