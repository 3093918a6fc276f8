import { readFileSync } from 'node:fs';

/** The version in package.json, which lies one folder above `src/` and `dist/` alike. */
export function productVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
}
