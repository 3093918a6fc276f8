import { weightOf } from '../store/preference.ts';
import type { Candidate } from '../store/store.ts';
import type { LoadStates } from './load-states.ts';
import type { Shares } from './tiers.ts';

export type Eligible = (candidate: Candidate) => boolean;

/** How many weighted draws are made from a whole tier before its eligible candidates are enumerated. */
const draws = 4;

/**
 * Picks one eligible candidate of a tier at random by weight. It first draws from the whole tier and takes the first
 * eligible draw: the distribution is the same, and the cost is logarithmic in the tier's size. It enumerates the eligible
 * candidates only if most are not eligible.
 */
export function pickByWeight(tier: Shares, eligible: Eligible, random: () => number): Candidate | undefined {
  const total = tier.sums.at(-1) ?? 0;
  for (let draw = 0; draw < draws; draw++) {
    const candidate = tier.candidates[indexOfSum(tier.sums, random() * total)];
    if (candidate !== undefined && eligible(candidate)) return candidate;
    if (tier.candidates.length === 1) return undefined;
  }
  const left = tier.candidates.filter(eligible);
  const rest = left.reduce((sum, candidate) => sum + weightOf(candidate), 0);
  let point = random() * rest;
  for (const candidate of left) {
    point -= weightOf(candidate);
    if (point < 0) return candidate;
  }
  return left.at(-1);
}

/**
 * Picks two different candidates as `pickByWeight` does, and returns the one with fewer requests under way for its weight. Of a crowd of
 * gateways that see the same node idle, not all send to it, as they would if each looked for the least loaded of all.
 */
export function pickLeastLoaded(
  tier: Shares,
  eligible: Eligible,
  random: () => number,
  loads: LoadStates,
): Candidate | undefined {
  const one = pickByWeight(tier, eligible, random);
  if (one === undefined || tier.candidates.length === 1) return one;
  const other = pickByWeight(tier, (candidate) => candidate !== one && eligible(candidate), random);
  if (other === undefined) return one;
  const loadOf = (candidate: Candidate): number =>
    (loads.underWay(candidate.node.id) + 1) / weightOf(candidate);
  return loadOf(other) < loadOf(one) ? other : one;
}

/** The first index whose running sum is above `point`. */
function indexOfSum(sums: readonly number[], point: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > point) high = middle;
    else low = middle + 1;
  }
  return low;
}
