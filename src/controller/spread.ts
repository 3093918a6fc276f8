/**
 * A number from 0 to 1 (excluded) that depends on the text alone: FNV-1a with a final mix. Schedules are spread by it
 * and not by chance, so that a plan computed twice gives one answer and a thousand nodes are never in step.
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

/** `ms` made up to 10 % shorter or longer, by the text. */
export function jittered(ms: number, text: string): number {
  return ms * (0.9 + 0.2 * fractionOf(text));
}
