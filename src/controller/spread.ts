/**
 * A number from 0 to 1 (excluded) that depends on the text only: FNV-1a with a final mix. It spreads schedules, in place of a
 * random number, so that the same facts always give the same plan and a thousand nodes are not checked at the same time.
 */
export function fractionOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** `ms`, up to 10 % shorter or longer, depending on the text. */
export function jittered(ms: number, text: string): number {
  return ms * (0.9 + 0.2 * fractionOf(text));
}
