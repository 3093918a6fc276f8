/** Longest wait that is believed, in seconds: a day. Callers cap it further. */
const maxSeconds = 86_400;

/**
 * Seconds to wait by a `Retry-After` header, at least 0: a number of seconds or an HTTP date, judged against
 * `now` (ms since the epoch). Undefined when absent or unreadable. Source: RFC 9110 §10.2.3.
 */
export function retryAfterSeconds(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  // Fractions are not in the RFC, but some model servers write them.
  const seconds = /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : secondsUntil(text, now);
  return seconds === undefined ? undefined : Math.min(Math.max(seconds, 0), maxSeconds);
}

function secondsUntil(text: string, now: number): number | undefined {
  // Date.parse takes nearly anything ("-1", "5 apples"); an HTTP date begins with the name of a day.
  const time = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : Math.ceil((time - now) / 1000);
}
