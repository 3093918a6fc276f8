import type { UpstreamHeaders } from './headers.ts';

/** Longest wait that is accepted, in seconds: a day. Callers cap it further. */
const maxSeconds = 86_400;

/**
 * How many seconds a node asks to wait, at least 0: from `retry-after-ms`, else from `retry-after`, which is a number of
 * seconds or an HTTP date compared with `now` (ms since the epoch). A header that cannot be read counts as absent.
 * Source: RFC 9110 §10.2.3; `retry-after-ms` is OpenAI's.
 */
export function retryAfterSeconds(headers: UpstreamHeaders, now: number): number | undefined {
  const ms = numberIn(headers.get('retry-after-ms'));
  const text = headers.get('retry-after');
  const seconds = ms === undefined ? (numberIn(text) ?? secondsUntil(text, now)) : ms / 1000;
  return seconds === undefined ? undefined : Math.min(Math.max(seconds, 0), maxSeconds);
}

/** Fractions are not in the RFC, but some model servers write them. */
function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,12}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined;
}

function secondsUntil(text: string | undefined, now: number): number | undefined {
  // Date.parse accepts nearly anything ("-1", "5 apples"); an HTTP date begins with the name of a day.
  const time = /^\s*[A-Z][a-z]{2,8},? /.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  return Number.isNaN(time) ? undefined : Math.ceil((time - now) / 1000);
}
