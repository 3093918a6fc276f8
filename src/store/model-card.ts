import type { ModelCard } from '../resources/model-card.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import type { Candidate } from './store.ts';

// Each change of a node makes a new object, so an entry never becomes outdated.
const cards = new WeakMap<UpstreamNode, ReadonlyMap<string, ModelCard>>();

/**
 * What is true for a name that callers may use, whichever of these candidates serves the request: the smallest windows, and
 * only the inputs that all of them take. Candidates without a value for a field are ignored for it; a field without any value is absent.
 */
export function cardOf(candidates: readonly Candidate[]): ModelCard {
  const known = candidates.flatMap(({ node, model }) => cardsOf(node.resource).get(model) ?? []);
  const [first] = known;
  if (first === undefined || known.length === 1) return first ?? {};
  const displayName = known.find((card) => card.displayName !== undefined)?.displayName;
  const contextTokens = smallest(known.map((card) => card.contextTokens));
  const outputTokens = smallest(known.map((card) => card.outputTokens));
  const inputs = known.flatMap(({ input }) => (input === undefined ? [] : [input]));
  const tools = known.flatMap((card) => card.tools ?? []);
  return {
    ...(displayName === undefined ? {} : { displayName }),
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(inputs.length === 0
      ? {}
      : { input: (inputs[0] ?? []).filter((kind) => inputs.every((input) => input.includes(kind))) }),
    ...(tools.length === 0 ? {} : { tools: tools.every(Boolean) }),
  };
}

/** The cards of a node's models, by real name; models about which nothing is known have none. A wish beats what a sync found. */
function cardsOf(node: UpstreamNode): ReadonlyMap<string, ModelCard> {
  const known = cards.get(node);
  if (known !== undefined) return known;
  const made = new Map<string, ModelCard>();
  for (const { name, source, contextTokens, outputTokens } of node.status?.models ?? []) {
    if (source !== 'Discovered' || (contextTokens ?? outputTokens) === undefined) continue;
    made.set(name, {
      ...(contextTokens === undefined ? {} : { contextTokens }),
      ...(outputTokens === undefined ? {} : { outputTokens }),
    });
  }
  for (const { name, card } of node.spec.models ?? []) {
    if (card !== undefined) made.set(name, { ...made.get(name), ...card });
  }
  cards.set(node, made);
  return made;
}

function smallest(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
