import { answerText } from '../support/upstream-sending.ts';

// Caller and upstream agree on what the answer to request `number` holds, so that each answer proves whose it is.

const mark = 'soak-';

/** Stands in the text of request `number`, and begins its answer. */
export function markOf(number: number): string {
  return `${mark}${number} `;
}

/** The number in a request body; undefined where there is none. */
export function numberIn(body: Buffer): number | undefined {
  const at = body.lastIndexOf(mark);
  const found = /^\d+/.exec(body.toString('latin1', at + mark.length, at + mark.length + 12));
  return at === -1 || found === null ? undefined : Number(found[0]);
}

/** How many pieces of text the answer has. */
export function chunksOf(number: number): number {
  return 3 + (number % 40);
}

/** The whole text of the answer. */
export function saidTo(number: number): string {
  return answerText(chunksOf(number), markOf(number));
}
