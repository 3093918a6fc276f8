import type { Candidate, KeyEntry, ServedModel } from '../store/store.ts';
import { mayUse } from '../store/tenancy.ts';

export interface RouteRefusal {
  readonly code: 'model_not_allowed' | 'model_not_found' | 'model_disabled' | 'no_node_available';
}

/** What keeps a request from a node that knows the name of its model. */
export type Hindrance = 'namespace' | 'being_deleted' | 'node_disabled' | 'model_disabled' | 'credentials';

type Hinders = (candidate: Candidate, key: KeyEntry, homeNamespace: string) => boolean;

// Named functions, called by name: a listing asks for half a million names, and a loop over a list takes twice as long.
const isOutOfReach: Hinders = ({ node }, key, home) => !mayUse(key.resource, node.resource, home);
const isBeingDeleted = ({ node }: Candidate) => node.resource.metadata.deletionTimestamp !== undefined;
const isNodeDisabled = ({ node }: Candidate) => !node.resource.spec.enabled;
const isModelDisabled = ({ enabled }: Candidate) => !enabled;
const lacksCredentials = ({ node }: Candidate) => node.credentials.state !== 'Resolved';

/** Every hindrance, in the order in which `usableCandidates` looks. */
const hindrances: readonly (readonly [Hindrance, Hinders])[] = [
  ['namespace', isOutOfReach],
  ['being_deleted', isBeingDeleted],
  ['node_disabled', isNodeDisabled],
  ['model_disabled', isModelDisabled],
  ['credentials', lacksCredentials],
];

/** All that keeps requests of this key from a candidate; the key's allowlist is judged before. */
export function hindrancesOf(candidate: Candidate, key: KeyEntry, homeNamespace: string): Hindrance[] {
  return hindrances
    .filter(([, hinders]) => hinders(candidate, key, homeNamespace))
    .map(([hindrance]) => hindrance);
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
  let isVisible = false;
  let isEnabled = false;
  for (const candidate of served?.candidates ?? []) {
    if (isOutOfReach(candidate, key, homeNamespace)) continue;
    isVisible = true;
    if (isBeingDeleted(candidate) || isNodeDisabled(candidate) || isModelDisabled(candidate)) continue;
    isEnabled = true;
    if (!lacksCredentials(candidate)) usable.push(candidate);
  }
  if (usable.length > 0) return usable;
  // The most telling refusal of those that are true.
  return { code: isEnabled ? 'no_node_available' : isVisible ? 'model_disabled' : 'model_not_found' };
}
