import { timeOf } from '../../resources/time.ts';

/** How long before its expiry a key is reported. */
export const expiryWarningMs = 7 * 86_400_000;

/** Whether a key's lifetime is longer than `expiryWarningMs`. For shorter ones there is no warning, because they are short-lived on purpose. */
export function isLongLived(creationTimestamp: string | undefined, expiresMs: number): boolean {
  return (timeOf(creationTimestamp) ?? 0) < expiresMs - expiryWarningMs;
}
