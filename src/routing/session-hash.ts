import { weightOf } from '../store/preference.ts';
import type { Candidate } from '../store/store.ts';

/** A hash of 64 bits, in two halves. */
export interface Hash {
  readonly high: number;
  readonly low: number;
}

/** The hash of a session: of the name that its caller sends for the model, and of the key, whose sessions no other key shares. */
export function sessionHash(key: string, model: string, session: string): Hash {
  return hashOf(key, model, session);
}

/** What represents a candidate in the hashes of sessions: the same in every gateway. */
export function candidateHash({ node, model }: Candidate): Hash {
  return hashOf(node.id, model);
}

/** Candidates in the order in which a session prefers them while no node has more than its share. */
export function sessionOrder(candidates: readonly Candidate[], session: Hash): Candidate[] {
  const distances = new Map(
    candidates.map((each) => [each, distanceTo(candidateHash(each), session, weightOf(each))]),
  );
  return candidates.toSorted((one, other) => (distances.get(one) ?? 0) - (distances.get(other) ?? 0));
}

/** How far a session is from a candidate; the nearest serves it. With -ln(u)/weight each is nearest in proportion to its weight. */
export function distanceTo(seed: Hash, session: Hash, weight: number): number {
  const { high, low } = finished(seed.high ^ session.high, seed.low ^ session.low);
  const u = ((high >>> 0) * 0x20_0000 + (low >>> 11) + 0.5) / 0x20_0000_0000_0000;
  return -Math.log(u) / weight;
}

/** A hash that is fast, even and no secret (cyrb53, Bryc 2018, public domain), of texts that are kept apart. */
function hashOf(...texts: readonly string[]): Hash {
  let high = 0x41c6ce57;
  let low = 0xdeadbeef;
  for (const text of texts) {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      low = Math.imul(low ^ unit, 0x9e3779b1);
      high = Math.imul(high ^ unit, 0x5f356495);
    }
    // No text holds this, so that "a", "bc" and "ab", "c" differ.
    low = Math.imul(low ^ 0x10000, 0x9e3779b1);
    high = Math.imul(high ^ 0x10000, 0x5f356495);
  }
  return finished(high, low);
}

function finished(high: number, low: number): Hash {
  let a = Math.imul(low ^ (low >>> 16), 0x85ebca6b);
  a ^= Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  let b = Math.imul(high ^ (high >>> 16), 0x85ebca6b);
  b ^= Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return { high: b, low: a };
}
