import type { Candidate, KeyEntry, ServedModel } from '../store/store.ts';
import { mayUse } from '../store/tenancy.ts';

export interface RouteRefusal {
  readonly code: 'model_not_allowed' | 'model_not_found' | 'model_disabled' | 'no_node_available';
}

/** What keeps a request from a node that knows the name of its model. */
export type Hindrance = 'namespace' | 'being_deleted' | 'node_disabled' | 'model_disabled' | 'credentials';

/** Every hindrance, in the order in which callers are told of them. The one list: routing and its explanation read it. */
const hinders: Readonly<
  Record<Hindrance, (candidate: Candidate, key: KeyEntry, homeNamespace: string) => boolean>
> = {
  namespace: ({ node }, key, homeNamespace) => !mayUse(key.resource, node.resource, homeNamespace),
  being_deleted: ({ node }) => node.resource.metadata.deletionTimestamp !== undefined,
  node_disabled: ({ node }) => !node.resource.spec.enabled,
  model_disabled: ({ enabled }) => !enabled,
  credentials: ({ node }) => node.credentials.state !== 'Resolved',
};
const inOrder = Object.keys(hinders) as readonly Hindrance[];

/** What a caller is told where a hindrance keeps it from every node, the most telling last. */
const refusalOf: Readonly<Record<Hindrance, RouteRefusal['code']>> = {
  namespace: 'model_not_found',
  being_deleted: 'model_disabled',
  node_disabled: 'model_disabled',
  model_disabled: 'model_disabled',
  credentials: 'no_node_available',
};
const telling: readonly RouteRefusal['code'][] = ['model_not_found', 'model_disabled', 'no_node_available'];

/** All that keeps requests of this key from a candidate; the key's allowlist is judged before. */
export function hindrancesOf(candidate: Candidate, key: KeyEntry, homeNamespace: string): Hindrance[] {
  return inOrder.filter((hindrance) => hinders[hindrance](candidate, key, homeNamespace));
}

/**
 * The candidates that a key's request may be sent to now, or why there is none: the one filter of first picks, retries
 * and listings, so that what is listed can be called. The key's allowlist is judged before.
 */
export function usableCandidates(
  served: ServedModel | undefined,
  key: KeyEntry,
  homeNamespace: string,
): readonly Candidate[] | RouteRefusal {
  const usable: Candidate[] = [];
  let told = 0;
  for (const candidate of served?.candidates ?? []) {
    const first = inOrder.find((hindrance) => hinders[hindrance](candidate, key, homeNamespace));
    if (first === undefined) usable.push(candidate);
    else told = Math.max(told, telling.indexOf(refusalOf[first]));
  }
  return usable.length > 0 ? usable : { code: telling[told] ?? 'model_not_found' };
}
