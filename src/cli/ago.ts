/** How long ago a time was, as kubectl shows ages: `42s`, `5m`, `3h`, `12d`; `never` without a time. */
export function ago(time: string | undefined, now: Date): string {
  if (time === undefined) return 'never';
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(time)) / 1_000));
  if (Number.isNaN(seconds)) return 'unknown';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
