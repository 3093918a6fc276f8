import type { ConfusedDocuments } from './confused-documents.ts';
import type { Finding } from './fuzz-report.ts';

/** One case in so many has a value of a megabyte, or 100,000 levels deep. */
const expensiveEvery = 500;

/**
 * `count` texts of these documents. First every member with every hostile value, beginning where `seed` says (a short run
 * takes part of them, of all members alike), then several members at once, drawn by `seed`.
 */
export function* typeCases(documents: ConfusedDocuments, count: number, seed: number): Generator<string> {
  const { size } = documents;
  const random = generator(seed);
  const step = stepThrough(size);
  const first = Math.floor(random() * size);
  for (let index = 0; index < count; index++) {
    if (index % expensiveEvery === expensiveEvery - 1)
      yield documents.expensiveAt(first + Math.floor(index / expensiveEvery));
    else if (index < size) yield documents.at((first + index * step) % size);
    else yield documents.several(random);
  }
}

/** A step that meets every index below `size` once, far from its neighbours. */
function stepThrough(size: number): number {
  let step = Math.max(1, Math.round(size * 0.618));
  while (divisor(step, size) !== 1) step += 1;
  return step;
}

function divisor(one: number, other: number): number {
  return other === 0 ? one : divisor(other, one % other);
}

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What is found, with what repeats it: the same seed and as many runs give the same cases. */
export function findingOf(name: string, seed: number, index: number, text: string, reason: string): Finding {
  return {
    target: `types: ${name}`,
    case: text.length > 4000 ? `${text.slice(0, 4000)}…` : text,
    reason: `seed ${seed}, case ${index}: ${reason.slice(0, 1500)}`,
  };
}

/** All shares together. */
export function sumOf(parts: readonly { readonly share: number }[]): number {
  return parts.reduce((sum, { share }) => sum + share, 0);
}
