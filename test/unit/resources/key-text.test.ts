import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  checkKeyText,
  generateKeyText,
  hashKeyText,
  keyHint,
  keyTextKind,
} from '../../../src/resources/key-text.ts';

const zeros = () => new Uint8Array(32);
const ones = () => new Uint8Array(32).fill(255);

test('a key is prefix, 43 base62 characters of the random bits and 6 of the CRC-32', () => {
  // Both texts were computed with Python's zlib and integers.
  expect(generateKeyText('api', zeros)).toBe('mgk_00000000000000000000000000000000000000000002gtpZx');
  expect(generateKeyText('master', ones)).toBe('mgm_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp11IVDud');
});

test.each(['api', 'master'] as const)('1,000 %s keys differ, check and tell their kind', (kind) => {
  const keys = Array.from({ length: 1_000 }, () => generateKeyText(kind, randomBytes));
  expect(new Set(keys).size).toBe(1_000);
  for (const key of keys) {
    expect(key).toMatch(/^mg[km]_[0-9A-Za-z]{49}$/);
    expect(checkKeyText(key)).toBe('ours');
    expect(keyTextKind(key)).toBe(kind);
  }
});

test('too few random bytes are refused', () => {
  expect(() => generateKeyText('api', () => new Uint8Array(31))).toThrow(RangeError);
});

test('every change of one character and every swap of two neighbours is noticed', () => {
  const key = generateKeyText('api', (size) => new Uint8Array(size).map((_, index) => index * 7));
  for (let at = 4; at < key.length; at += 1) {
    const other = key[at] === 'x' ? 'y' : 'x';
    expect(checkKeyText(key.slice(0, at) + other + key.slice(at + 1))).toBe('mistyped');
    const swapped = key.slice(0, at) + key.charAt(at + 1) + key.charAt(at) + key.slice(at + 2);
    if (swapped !== key) expect(checkKeyText(swapped)).toBe('mistyped');
  }
});

const ours = generateKeyText('api', zeros);
test.each([
  ['a truncated one of ours', ours.slice(0, -1), 'mistyped'],
  ['one of ours with a character more', `${ours}0`, 'mistyped'],
  ['the prefix alone', 'mgk_', 'mistyped'],
  ['an API key with a master prefix', ours.replace('mgk_', 'mgm_'), 'mistyped'],
  ['23 characters', 'x'.repeat(23), 'impossible'],
  ['24 characters', 'x'.repeat(24), 'foreign'],
  ['512 characters', 'x'.repeat(512), 'foreign'],
  ['513 characters', 'x'.repeat(513), 'impossible'],
  ['a blank inside', `${'x'.repeat(24)} x`, 'impossible'],
  ['a line end', `${'x'.repeat(24)}\n`, 'impossible'],
  ['letters beyond ASCII', 'é'.repeat(30), 'impossible'],
  ['nothing', '', 'impossible'],
])('%s is judged', (_, text, verdict) => {
  expect(checkKeyText(text)).toBe(verdict);
});

test('hash and hint', () => {
  expect(hashKeyText('abc')).toBe('sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(keyHint(ours)).toBe(`mgk_...${ours.slice(-4)}`);
  expect(keyHint('sk-proj-abcdefghijklmnopqrstuv')).toBe('...stuv');
  expect(keyTextKind('sk-proj-abcdefghijklmnopqrstuv')).toBeUndefined();
});
