/**
 * Returns the newer of two versions of a resource, with all equal parts taken from the older one. A status that differs in
 * one time then shares the older list of models: there is less garbage, and a comparison finds unchanged parts by identity.
 *
 * Both are JSON. `after` is changed; nothing else may use it, except for the small objects that `compact` shares. `before` is
 * not changed.
 */
export function keepUnchanged<T>(before: unknown, after: T): T {
  return kept(before, after) as T;
}

function kept(before: unknown, after: unknown): unknown {
  if (before === after || typeof before !== 'object' || typeof after !== 'object') return after;
  if (before === null || after === null || Array.isArray(before) !== Array.isArray(after)) return after;
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>];
  const names = Object.keys(now);
  let isSame = names.length === Object.keys(old).length;
  for (const name of names) {
    const [was, is] = [Object.hasOwn(old, name) ? old[name] : undefined, now[name]];
    const part = kept(was, is);
    // The objects that `compact` shares have no objects in them, so this never writes to one.
    if (part !== is) now[name] = part;
    if (part !== was) isSame = false;
  }
  return isSame ? before : after;
}
