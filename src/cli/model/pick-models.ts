import { compileGlob } from '../../resources/glob.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { realModels, servedNames } from '../../store/node-models.ts';
import { withNearest } from '../with-nearest.ts';

export interface Picked {
  /** Real names of models, by name, with whether each is enabled now. */
  readonly models: readonly { readonly name: string; readonly enabled: boolean }[];
  /** A message for each word that names no model of the node. */
  readonly problems: readonly string[];
}

/** The models of a node that match words: names, or patterns with `*` (any text) and `?` (one character). */
export function pickModels(node: UpstreamNode, words: readonly string[]): Picked {
  const names = servedNames(node);
  const known = realModels(node);
  const real = [...known].map(([name, { enabled }]) => ({ name, enabled }));
  const picked = new Map<string, boolean>();
  const problems: string[] = [];
  for (const word of words) {
    const exact = known.get(word);
    const aliased = exact === undefined ? names.get(word) : undefined;
    if (aliased !== undefined) {
      const models = aliased.map(({ model }) => JSON.stringify(model)).join(', ');
      problems.push(`${JSON.stringify(word)} is an alias of ${models} there; name that.`);
      continue;
    }
    const found = exact === undefined ? matching(word, real) : [{ name: word, enabled: exact.enabled }];
    if (found.length === 0) problems.push(unknownModel(word, real));
    for (const { name, enabled } of found) picked.set(name, enabled);
  }
  const models = [...picked].map(([name, enabled]) => ({ name, enabled }));
  return { models: models.sort((one, other) => (one.name < other.name ? -1 : 1)), problems };
}

function matching<T extends { readonly name: string }>(word: string, models: readonly T[]): readonly T[] {
  if (!/[*?]/.test(word)) return [];
  const fits = compileGlob(word);
  return models.filter(({ name }) => fits(name));
}

function unknownModel(word: string, models: readonly { readonly name: string }[]): string {
  if (/[*?]/.test(word)) return `no model of the node matches ${JSON.stringify(word)}.`;
  const known = models.map(({ name }) => name);
  return withNearest(`the node has no model ${JSON.stringify(word)}`, word, known);
}
