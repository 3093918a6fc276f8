import { type Dialect, resolveDialect } from '../convert/dialect.ts';
import type { Candidate } from '../store/store.ts';

// A candidate is a new object after each change of its node, so what is resolved once holds as long as it does.
const dialects = new WeakMap<Candidate, Dialect>();

/** What a candidate's chat-completions takes: the model's wishes before the node's, before the defaults of its host. */
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
