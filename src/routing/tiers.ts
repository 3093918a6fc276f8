import type { NativeFormat } from '../resources/formats.ts';
import { priorityOf, weightOf } from '../store/preference.ts';
import type { Candidate } from '../store/store.ts';
import type { CallerFormat } from './caller-format.ts';
import { dialectOf } from './candidate-dialect.ts';
import { candidateHash, type Hash } from './session-hash.ts';

/** Candidates with the running sum of their weights. */
export interface Shares {
  readonly candidates: readonly Candidate[];
  readonly sums: readonly number[];
  /** What represents each candidate in the hashes of sessions; made when the first session asks. */
  readonly hashes: () => readonly Hash[];
}

/** Candidates of one priority. */
export interface Tier extends Shares {
  readonly allNative: boolean;
  /** The candidates that speak the caller's format; undefined if all do or none does. */
  readonly natives: Shares | undefined;
}

/** The native format that a node needs to serve a caller's format without conversion; undefined if every node speaks it. */
const nativeFor: Readonly<Partial<Record<CallerFormat, NativeFormat>>> = {
  completions: 'Completions',
  responses: 'Responses',
  messages: 'Messages',
  count_tokens: 'Messages',
};

/** Whether the candidate's node speaks the caller's format, so that nothing is converted. */
export function isNative({ node }: Candidate, format: CallerFormat): boolean {
  const needed = nativeFor[format];
  return needed === undefined || node.nativeFormats.has(needed);
}

/** Groups candidates by priority, the highest first. */
export function tiersOf(candidates: readonly Candidate[], format: CallerFormat): Tier[] {
  // A node that knows its tokenizer counts better than an estimate, so it comes first whatever its priority.
  const groups =
    format === 'count_tokens'
      ? [...Map.groupBy(candidates, countRank)]
          .sort(([one], [other]) => one - other)
          .map(([, group]) => group)
      : [candidates];
  return groups.flatMap((group) => {
    const byPriority = Map.groupBy(group, priorityOf);
    return [...byPriority]
      .sort(([one], [other]) => other - one)
      .map(([, members]) => tierOf(members, format));
  });
}

function countRank(candidate: Candidate): number {
  if (isNative(candidate, 'count_tokens')) return 0;
  return dialectOf(candidate).tokenize ? 1 : 2;
}

function tierOf(candidates: readonly Candidate[], format: CallerFormat): Tier {
  const natives = candidates.filter((candidate) => isNative(candidate, format));
  const mixed = natives.length > 0 && natives.length < candidates.length;
  return {
    ...sharesOf(candidates),
    allNative: natives.length === candidates.length,
    natives: mixed ? sharesOf(natives) : undefined,
  };
}

function sharesOf(candidates: readonly Candidate[]): Shares {
  let sum = 0;
  let hashes: readonly Hash[] | undefined;
  return {
    candidates,
    sums: candidates.map((candidate) => (sum += weightOf(candidate))),
    hashes: () => (hashes ??= candidates.map(candidateHash)),
  };
}
