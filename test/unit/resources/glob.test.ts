import { describe, expect, test } from 'vitest';
import { compileGlob } from '../../../src/resources/glob.ts';

describe('a pattern over a whole name', () => {
  test.for([
    ['gpt-5', 'gpt-5', true],
    ['gpt-5', 'gpt-5-mini', false],
    ['gpt-5', 'a/gpt-5', false],
    ['gpt-*', 'gpt-', true],
    ['gpt-*', 'gpt-5-mini', true],
    ['gpt-*', 'GPT-5', false],
    ['*', '', true],
    ['*', 'a', true],
    ['**', 'a/b', true],
    ['?', '', false],
    ['?', 'a', true],
    ['?', '😀', true],
    ['?', 'ab', false],
    ['??*', 'a', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['*-mini', 'gpt-5-mini', true],
    ['*-mini', 'gpt-5-mini-2', false],
    ['*mini*', 'gpt-5-mini-2', true],
    ['openai/*:free', 'openai/gpt-oss:free', true],
    ['openai/*:free', 'openai/gpt-oss', false],
    ['*a*b*c*', 'xxaxxbxxcxx', true],
    ['*a*b*c*', 'xxaxxcxxbxx', false],
    ['*ab', 'aab', true],
    ['*abab', 'ababab', true],
    ['a.c', 'abc', false],
    ['[a-z]', 'a', false],
  ] as const)('%s and %s: %s', ([pattern, name, expected]) => {
    expect(compileGlob(pattern)(name)).toBe(expected);
  });

  test('what it finds is what a simple search finds, also across words of 32 characters', () => {
    const letters = (length: number, seed: number): string =>
      Array.from({ length }, (_, at) => 'ab'.charAt(((seed + 1) * 7_919 * (at + 3)) % 5 > 2 ? 1 : 0)).join(
        '',
      );
    let found = 0;
    for (let seed = 0; seed < 500; seed++) {
      const name = letters(20 + (seed % 90), seed);
      const at = seed % 13;
      const middle = name.slice(at, at + (seed % 70));
      const pattern = ['*', middle.replaceAll(/(?<=^.{5})./g, '?'), seed % 3 === 0 ? '' : '*'].join('');
      const simple = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`);
      expect(compileGlob(pattern)(name), `${pattern} ${name}`).toBe(simple.test(name));
      if (simple.test(name)) found += 1;
    }
    expect(found).toBeGreaterThan(100);
  });

  test('names and patterns made to be slow take time in proportion to the name', () => {
    const fits = compileGlob(`${'*a'.repeat(127)}*b`);
    const short = 'a'.repeat(1_000);
    const long = 'a'.repeat(100_000);
    const timeOf = (name: string): number => {
      const started = performance.now();
      expect(fits(name)).toBe(false);
      return performance.now() - started;
    };
    timeOf(short);
    // Quadratic time would be 10,000 times that of the short one.
    expect(timeOf(long)).toBeLessThan(1_000 * Math.max(timeOf(short), 0.1));
  });
});
