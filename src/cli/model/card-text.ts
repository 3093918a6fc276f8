import type { ModelCard } from '../../resources/model-card.ts';
import { oneLine } from '../table.ts';

/** What is known about a model, a line each; empty if nothing is. */
export function cardText({
  displayName,
  contextTokens,
  outputTokens,
  input,
  tools,
  price,
}: ModelCard): string {
  const prices = [
    ['in', price?.inputPerMillion],
    ['cached', price?.cachedInputPerMillion],
    ['out', price?.outputPerMillion],
  ].flatMap(([what, value]) => (value === undefined ? [] : [`${value} ${what}`]));
  const rows: (readonly [string, string | undefined])[] = [
    ['Display name', displayName],
    ['Context', contextTokens === undefined ? undefined : `${contextTokens} tokens`],
    ['Output', outputTokens === undefined ? undefined : `${outputTokens} tokens at most`],
    ['Inputs', input?.join(', ')],
    ['Tools', tools === undefined ? undefined : tools ? 'yes' : 'no'],
    ['Price', prices.length === 0 ? undefined : `${prices.join(', ')}, for a million tokens`],
  ];
  return rows
    .flatMap(([title, text]) => (text === undefined ? [] : [`${`${title}:`.padEnd(15)}${oneLine(text)}\n`]))
    .join('');
}
