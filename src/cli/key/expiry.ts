import { InvalidArgumentError } from 'commander';
import { timeOf, timeText } from '../../resources/time.ts';

const unitMs: ReadonlyMap<string, number> = new Map(
  Object.entries<number>({
    m: 60_000,
    h: 3_600_000,
    d: 86_400_000,
    w: 7 * 86_400_000,
  }),
);
const mostDays = 36_500;

/** A span of time in milliseconds: `90d`, `24h`, `30m`, `2w`; undefined for another text. */
function spanOf(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const ms = Number(amount) * (unitMs.get(unit) ?? Number.NaN);
  return Number.isNaN(ms) || ms > mostDays * 86_400_000 ? undefined : ms;
}

/**
 * When a key ends, in RFC 3339: after a span such as `90d`, or at a time such as `2027-01-31T00:00:00Z`.
 * Throws InvalidArgumentError for another text, and for a time that has passed.
 */
export function expiryOf(text: string, now: Date): string {
  const span = spanOf(text);
  const end = span === undefined ? timeOf(isTime(text) ? text : undefined) : now.getTime() + span;
  if (end === undefined) {
    throw new InvalidArgumentError('Give a span such as 90d or 24h, or a time such as 2027-01-31T00:00:00Z.');
  }
  if (end <= now.getTime()) throw new InvalidArgumentError('This time has passed; give a later one.');
  return timeText(end);
}

/** Option parser: an overlap in whole seconds, of at most 30 days. */
export function overlapSeconds(text: string): number {
  const span = text === '0' ? 0 : spanOf(text);
  if (span === undefined || span > 30 * 86_400_000) {
    throw new InvalidArgumentError('Give a span of at most 30 days, such as 24h, 7d or 0.');
  }
  return span / 1_000;
}

function isTime(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
}
