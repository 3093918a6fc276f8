import type { Candidate, KeyEntry, ServedModel } from '../store/store.ts';
import { mayUse } from '../store/tenancy.ts';

export interface RouteRefusal {
  readonly code: 'model_not_allowed' | 'model_not_found' | 'model_disabled' | 'no_node_available';
}

/** Why a node that knows the model's name may not get a request. */
export type Hindrance = 'namespace' | 'being_deleted' | 'node_disabled' | 'model_disabled' | 'credentials';

type Hinders = (candidate: Candidate, key: KeyEntry, homeNamespace: string) => boolean;

// Separate functions, called directly: a listing checks half a million names, and a loop over a list of functions takes twice as long.
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

/** Every reason why requests of this key may not go to a candidate. The caller has already checked the key's allowlist. */
export function hindrancesOf(candidate: Candidate, key: KeyEntry, homeNamespace: string): Hindrance[] {
  return hindrances
    .filter(([, hinders]) => hinders(candidate, key, homeNamespace))
    .map(([hindrance]) => hindrance);
}

/**
 * The candidates that a key's request may be sent to now, or why there is none. First picks, retries and listings all use
 * this filter, so that every listed model can be called. The caller has already checked the key's allowlist.
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
  // The most specific refusal that applies.
  return { code: isEnabled ? 'no_node_available' : isVisible ? 'model_disabled' : 'model_not_found' };
}
