import { weightOf } from '../store/preference.ts';
import type { Candidate } from '../store/store.ts';
import type { LoadStates } from './load-states.ts';
import { distanceTo, type Hash } from './session-hash.ts';
import type { Shares } from './tiers.ts';

/** How many times its share of the requests under way a node may have before a session passes it by. */
const mostOfShare = 1.25;
/**
 * A node with fewer requests under way than this is never passed by. Otherwise two agents whose sessions have the same node would
 * push each other away from it although it is nearly idle.
 */
const fewRequests = 4;

/**
 * The candidate for a request of a session: among the eligible ones the first in the session's order that has room. The order is a
 * weighted rendezvous hash. It is the same in every gateway, it spreads sessions by weight, and a candidate that leaves moves no
 * sessions but its own.
 */
export function pickForSession(
  { candidates, hashes }: Shares,
  eligible: (candidate: Candidate) => boolean,
  session: Hash,
  loads: LoadStates,
): Candidate | undefined {
  const seeds = hashes();
  const room = { requests: 1, mean: 0, weights: 0 };
  let best: Candidate | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < candidates.length; at++) {
    const candidate = candidates[at];
    const seed = seeds[at];
    if (candidate === undefined || seed === undefined || !eligible(candidate)) continue;
    const weight = weightOf(candidate);
    room.requests += loads.underWay(candidate.node.id);
    room.mean += loads.mean(candidate.node.id);
    room.weights += weight;
    const distance = distanceTo(seed, session, weight);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  if (best === undefined || hasRoom(best, room, loads)) return best;
  let next = best;
  least = Number.POSITIVE_INFINITY;
  for (const [at, candidate] of candidates.entries()) {
    const seed = seeds[at];
    if (seed === undefined || !eligible(candidate) || !hasRoom(candidate, room, loads)) continue;
    const distance = distanceTo(seed, session, weightOf(candidate));
    if (distance >= least) continue;
    least = distance;
    next = candidate;
  }
  return next;
}

/**
 * Whether a node has less than 1.25 times its share. A count goes up and down by chance, about as much as the root of its mean, and a
 * session that is sent away for one moment misses its cache twice. Thus a node may exceed that by twice as much for a
 * while, if it did not exceed it on average.
 */
function hasRoom(
  candidate: Candidate,
  all: { readonly requests: number; readonly mean: number; readonly weights: number },
  loads: LoadStates,
): boolean {
  const { id } = candidate.node;
  const underWay = loads.underWay(id);
  const part = weightOf(candidate) / all.weights;
  const share = all.requests * part;
  if (underWay < Math.max(fewRequests, mostOfShare * share)) return true;
  return (
    underWay < mostOfShare * share + 2 * Math.sqrt(share) && loads.mean(id) <= mostOfShare * all.mean * part
  );
}
