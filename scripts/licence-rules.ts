/** Licences, by SPDX name, that ask for no more than their text to be passed on with the program. */
const permissive = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);

/**
 * Whether an SPDX expression lets us ship the package: one side of an OR is enough, of an AND every one counts.
 * What it does not understand (WITH, a licence of its own, nothing at all) is not allowed: somebody has to look.
 */
export function isAllowedLicence(expression: string | undefined): boolean {
  if (expression === undefined) return false;
  const text = expression.trim();
  const inner = /^\(([^()]*)\)$/.exec(text)?.[1];
  if (inner !== undefined) return isAllowedLicence(inner);
  if (/[()]/.test(text)) return false;
  return text
    .split(/\s+OR\s+/)
    .some((side) => side.split(/\s+AND\s+/).every((name) => permissive.has(name.trim())));
}
