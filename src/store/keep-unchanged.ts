/**
 * The newer of two versions of a resource, with every part that both say alike taken from the older one, so that a status
 * that was written for one time in it does not bring the node's list of models anew: nothing is left behind for the
 * collector, and whoever compares two versions sees by identity what did not change.
 *
 * Both are JSON. `after` is changed and must be used by nobody else, but for small objects that others share; `before` stays
 * as it is.
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
    // What is shared with others holds no objects, so that it is not written to.
    if (part !== is) now[name] = part;
    if (part !== was) isSame = false;
  }
  return isSame ? before : after;
}
