import { keySourceChangeRules } from './key-source.ts';
import type { Problem } from './problem.ts';
import type { Resource } from './resource.ts';

/**
 * Checks a change of a resource by the rules that the API server applies to updates: which fields must not change, and which
 * may only rise. Both objects must have the same kind and name. If the uid differs it is another object, and no rule applies.
 */
export function changeProblems(previous: Resource, next: Resource): Problem[] {
  if (previous.kind === 'Secret' || previous.kind === 'UpstreamNode') return [];
  if (next.kind !== previous.kind) return [];
  return keySourceChangeRules
    .filter((rule) => !rule.holds(next.spec, previous.spec))
    .map(({ field, message, remedy }) => ({
      path: field === undefined ? 'spec' : `spec.${field}`,
      reason: message,
      remedy,
    }));
}
