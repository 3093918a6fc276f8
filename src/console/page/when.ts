import { html, type View } from './htm-preact.js';

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** A time (RFC 3339) as how long ago it was, with the exact one in the reader's zone on hover. */
export function When({ time, absent = 'never' }: { time: string | undefined; absent?: string }): View {
  if (time === undefined) return html`<span class="muted">${absent}</span>`;
  const at = new Date(time);
  const seconds = (at.getTime() - Date.now()) / 1000;
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const);
  return html`<time dateTime=${time} title=${exact.format(at)}>${relative.format(Math.round(seconds / size), unit)}</time>`;
}
