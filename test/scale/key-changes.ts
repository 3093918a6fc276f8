/** For how long callers are measured beside changes that their gateway does not hear of, before its own changes and again after them. */
export const besideSeconds = 30;

/** One change of a key: it is switched off, or on again. */
interface KeyChange {
  readonly index: number;
  readonly enabled: boolean;
}

/**
 * The change with this number, of so many keys: half of them revoke, half take that back, two seconds later or when half of
 * the keys are off.
 */
export function keyChange(number: number, keys: number, perSecond: number): KeyChange {
  const lag = Math.min(Math.floor(keys / 2), perSecond * 2);
  const step = Math.floor(number / 2);
  if (number % 2 === 0) return { index: step % keys, enabled: false };
  return { index: step >= lag ? (step - lag) % keys : (keys - 1 - step) % keys, enabled: true };
}
