/**
 * One step on the way to a field: a member's name, or in a list of named entries (`spec.models`, `spec.headers`) the
 * entry of that name.
 */
export type Step = string | { readonly name: string };

/** One change of a resource: a field gets a value, or is removed. A list that is not a map list is one value. */
export type Edit =
  | { readonly path: readonly Step[]; readonly value: unknown }
  | { readonly path: readonly Step[]; readonly remove: true };
