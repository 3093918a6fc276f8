/** A point in time as Kubernetes writes it: RFC 3339 in whole seconds. `ms` counts since 1970. */
export function timeText(ms: number): string {
  return new Date(Math.floor(ms / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
}

/** Milliseconds since 1970 of an RFC 3339 time; undefined where there is none or it is unreadable. */
export function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
