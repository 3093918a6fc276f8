import { keySourceChangeRules } from './key-source.ts';
import type { Problem } from './problem.ts';
import type { Resource } from './resource.ts';

/**
 * Judges a change of a resource by the rules that the API server applies to updates: what must not change, and what may
 * only rise. Both must be of the same kind and name; a changed uid is another object, to which no rule applies.
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
