import { timeOf } from '../../resources/time.ts';

/** How long before its expiry a key is reported. */
export const expiryWarningMs = 7 * 86_400_000;

/** Whether a key lives longer than the warning before its expiry. Others are short-lived on purpose: nobody is warned of them. */
export function isLongLived(creationTimestamp: string | undefined, expiresMs: number): boolean {
  return (timeOf(creationTimestamp) ?? 0) < expiresMs - expiryWarningMs;
}
