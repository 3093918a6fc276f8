import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { Observation } from '../conditions.ts';

/** Names that the message has room for. */
const mostNames = 5;
const beginning = ' No effect: ';

/**
 * The condition of the sync, which also names entries of `spec.models` with a card or aliases for models that the node does not have:
 * a wrong name is not noticed otherwise. The condition may be the one of an earlier reconcile, with what it said then.
 */
export function withUnknownWishes(
  observation: Observation,
  { spec }: UpstreamNode,
  models: readonly { readonly name: string }[],
): Observation {
  if (observation.status !== 'True') return observation;
  const [base = ''] = observation.message.split(beginning, 1);
  const known = new Set(models.map(({ name }) => name));
  const unknown = (spec.models ?? []).filter(
    ({ name, card, aliases = [] }) => !known.has(name) && (card !== undefined || aliases.length > 0),
  );
  if (unknown.length === 0) return { ...observation, message: base };
  const names = unknown.slice(0, mostNames).map(({ name }) => JSON.stringify(name));
  const more = unknown.length > mostNames ? ` and ${unknown.length - mostNames} more` : '';
  const message = `${base}${beginning}spec.models has a card or aliases for ${names.join(', ')}${more}, and the node has no such model. Correct the name, or add it to spec.manualModels.`;
  return { ...observation, message: message.slice(0, 2_048).toWellFormed() };
}
