import { weightOf } from '../../store/preference.ts';
import type { Candidate } from '../../store/store.ts';
import type { CallerFormat } from '../caller-format.ts';
import { type Hash, sessionOrder } from '../session-hash.ts';
import { isNative, tiersOf } from '../tiers.ts';

/** A candidate's place in the order of picks. */
export interface Rank {
  /** From 1; within one group in the session's order, or by weight, although the actual order there is random. */
  readonly position: number;
  /** The group, from 1. Candidates of one group are picked by weight; the next group is used when all of this one were tried. */
  readonly tier: number;
  /** Its share of the group's picks, 0 to 1. */
  readonly share: number;
}

/**
 * The order in which routing picks from candidates that have passed the filter: the healthy ones by tier, then the demoted
 * ones by tier. `preferNative` says that the conversion of the request would lose something.
 */
export function ranksOf(
  candidates: readonly Candidate[],
  options: {
    readonly format: CallerFormat;
    readonly preferNative: boolean;
    readonly isDemoted: (candidate: Candidate) => boolean;
    readonly session?: Hash | undefined;
  },
): ReadonlyMap<Candidate, Rank> {
  const { format, preferNative, isDemoted, session } = options;
  const ranks = new Map<Candidate, Rank>();
  let turn = 0;
  for (const demoted of [false, true]) {
    for (const tier of tiersOf(candidates, format)) {
      const eligible = tier.candidates.filter((candidate) => isDemoted(candidate) === demoted);
      const groups = preferNative
        ? [
            eligible.filter((candidate) => isNative(candidate, format)),
            eligible.filter((candidate) => !isNative(candidate, format)),
          ]
        : [eligible];
      for (const group of groups) {
        if (group.length === 0) continue;
        turn += 1;
        const sum = group.reduce((total, candidate) => total + weightOf(candidate), 0);
        const ordered = session === undefined ? group.toSorted(byWeight) : sessionOrder(group, session);
        for (const candidate of ordered) {
          const share = weightOf(candidate) / sum;
          ranks.set(candidate, { position: ranks.size + 1, tier: turn, share });
        }
      }
    }
  }
  return ranks;
}

function byWeight(one: Candidate, other: Candidate): number {
  const difference = weightOf(other) - weightOf(one);
  if (difference !== 0) return difference;
  if (one.node.id !== other.node.id) return one.node.id < other.node.id ? -1 : 1;
  return one.model < other.model ? -1 : 1;
}
