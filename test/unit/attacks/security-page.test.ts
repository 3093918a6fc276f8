import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const page = readFileSync('SECURITY.md', 'utf8');

/** The proofs that a text names: `file` “title”, “title”. */
function proofsOf(text: string): { file: string; title: string }[] {
  return [...text.matchAll(/`(test\/[\w/-]+\.test\.ts)` ((?:“[^”]+”(?:, )?)+)/g)].flatMap(
    ([, file = '', titles = '']) =>
      [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({ file, title })),
  );
}

const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
);
const claims = [
  ...[...(sections.get('How secrets flow') ?? '').matchAll(/^\| (?!claim|---).*$/gm)],
  ...[...(sections.get('Who can do what') ?? '').matchAll(/^\| (?!who|---).*$/gm)],
  ...[...(sections.get('What an attacker can and cannot do') ?? '').matchAll(/^- .*$/gm)],
].map(([claim]) => claim);

test('there is a claim for each who and what', () => {
  expect(claims.length).toBeGreaterThan(60);
  for (const who of [
    'caller key',
    'master key',
    'edit rights on nodes',
    'data folder',
    'malicious upstream',
    'malicious caller',
  ]) {
    expect(page).toMatch(new RegExp(`^### .*${who}`, 'm'));
  }
});

test.each(claims)('%s', (claim) => {
  const proofs = proofsOf(claim);
  expect(proofs.length, 'names no proof').toBeGreaterThan(0);
});

describe('every proof is a test that there is', () => {
  const proofs = proofsOf(page);
  test.each(proofs)('$file: $title', ({ file, title }) => {
    expect(existsSync(file)).toBe(true);
    const source = readFileSync(file, 'utf8').replaceAll("\\'", "'");
    const titles = [
      ...source.matchAll(
        /(?:test|describe|\))(?:\.\w+)*(?:\([^\n]*?\))?\(\s*(['"`])(.*?)\1,\s*(?:\{|async|\(|$)/gm,
      ),
    ].map(([, , each = '']) => each);
    expect(titles).toContain(title);
  });
  test('and every file that is named has one', () => {
    const named = new Set([...page.matchAll(/`(test\/[\w/-]+\.test\.ts)`/g)].map(([, file = '']) => file));
    expect([...named].filter((file) => !existsSync(file))).toEqual([]);
  });
});
