import { type Dialect, resolveDialect } from '../convert/dialect.ts';
import type { Candidate } from '../store/store.ts';

// A candidate is a new object after each change of its node, so a dialect resolved once is valid for the object's lifetime.
const dialects = new WeakMap<Candidate, Dialect>();

/** The chat-completions dialect of a candidate: the model's settings come before the node's, and those before the host's defaults. */
export function dialectOf(candidate: Candidate): Dialect {
  const known = dialects.get(candidate);
  if (known !== undefined) return known;
  const { node, model } = candidate;
  const { baseURL, dialect, models } = node.resource.spec;
  const resolved = resolveDialect({
    host: new URL(baseURL).hostname,
    model,
    node: dialect,
    modelWish: models?.find(({ name }) => name === model)?.dialect,
  });
  dialects.set(candidate, resolved);
  return resolved;
}
