import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { readPlainYaml } from '../../../../src/store/folder/plain-yaml.ts';

/** Reads as the full parser does, or leaves it to that one. @returns whether it read */
function agrees(text: string): boolean {
  const plain = readPlainYaml(text);
  if (plain === undefined) return false;
  const full = parseDocument(text, { stringKeys: true });
  expect(full.errors, text).toEqual([]);
  expect(full.warnings, text).toEqual([]);
  expect(plain, text).toEqual(full.toJS());
  return true;
}

const manifest = `# a comment
---
apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata:
  name: node-1
  labels: {}

spec:
  displayName: "With: signs, in it"
  baseURL: https://example.com:8443/v1
  priority: 50
  enabled: true
  # between
  manualModels:
  - gpt-4o
  - vendor/model:7b
  - '1.5'
  models:
    - name: gpt-4o
      aliases: [fast, "cheap one", 4o]
    - name: b
      enabled: false
  nothing:
  list: []
`;

describe('plain YAML', () => {
  test('reads a manifest as people write them', () => {
    expect(agrees(manifest.slice(manifest.indexOf('---')))).toBe(true);
  });

  test.each([
    'a: b',
    'a: 1\nb: -1',
    'a: 2027-01-31T00:00:00Z',
    'a: sha256:00ff',
    'a: x y',
    'a:',
    'a:\nb: 1',
    'a: null',
    'a: yes',
    'a:\n- 1\n- b: 2\n  c: 3\nd: 4',
    'a:\n  - b:\n    - c\n    - d',
    'a: [1, x, "y"]',
    "a: 'x'",
    'a: ""',
    'a: 0',
    'a: true   ',
    'a:\n    b: 1\n    c: 2',
    'a:\n  b:\n  c: 1',
    'a:\n  b:\nc: 1',
    'a: b:c',
    'a: x, y',
    'a: 4o-mini',
    'a:\n  - b:\n      c: 1\n    d: 2',
    '---\na: 1',
    'a: http://[::1]:80/',
    'a: a?b=c&d',
    'a: 12345678901234567890',
    'a: 0x1F',
    'a: 1_000',
    'a: 1e5',
    'a: .5',
    'a: 010',
    'a: True',
    'a: NULL',
    'a: ~',
    'a: - b',
    'a: *b',
    'a: &b c',
    'a: !!str 1',
    'a: |\n  x',
    'a: >\n  x',
    'a: "x\\n"',
    "a: 'it''s'",
    'a: b # c',
    'a: b #c',
    'a: b#c',
    'a: [x, [y]]',
    'a: {b: c}',
    'a: [a b]',
    'a: [a: b]',
    'a: [x,]',
    'a: [,x]',
    'a: [ ]',
    'a: b\n  c',
    'a:\n  b\n  c',
    'a: 1\na: 2',
    'a: 1\n b: 2',
    ' a: 1',
    'a:\n - 1\n  - 2',
    'a:\n- 1\n- - 2',
    '- a',
    'a',
    'a: b: c',
    '"a": 1',
    '? a',
    'a: @b',
    'a: `b',
    'a: %b',
    '%YAML 1.1\n---\na: yes',
    '--- a: 1',
    '---\na: 1\n...',
    'a: 1\n---\nb: 2',
    'a: é',
    'a: "é"',
    'a: \tb',
    '\ta: b',
    'a: 1\r\nb: 2',
    '\ufeffa: 1',
    'null: 1',
    'true: 1',
    '__proto__: 1',
    'constructor: 1',
    '1: 2',
    '<<: {a: 1}',
    'a:\n-  b: 1\n   c: 2',
    'a:\n-\n  b: 1',
    'a: "x" y',
    "a: 'x' y",
    'a: x"y',
    'a: -',
    'a: [-1]',
    'a: [a/b, c.d]',
    "a: ['x', y]",
    "a: [x's]",
    'a: ["x, y"]',
    'a:  b',
    'a :b',
    'a : b',
    'a: b :c',
    'a: b ',
    'a: a-',
    'a: a:',
    'a: x!y',
    'a: x{y',
    'a: x[y',
    'a: x]y',
    'a: [x, y]z',
    'a: "x"',
    'a: ""x',
    'a: (b)',
    'a: b (c)',
    'a: b - c',
    'a: b -c',
    'a: b, c',
    'a: /x',
    'a: _x',
    'a: +1',
    'a: -x',
    'a: =',
    'a: b = c',
    'a: ?x',
    'a:\n  - a\n b: 1',
    'a:\n  - x\n  b: 1',
    'a:\n  b: 1\n  - x',
    'a:\n- b: 1\n c: 2',
    'a:\n- b: 1\n   c: 2',
    'a:\n  - x\n- y',
    'a: 1.',
    'a: 1.0',
    'a: 1:30',
    'a: 12:30:45',
    'a: 0o17',
    'a: 1-2',
    'a: 1+1',
  ])('never differs from the full parser: %j', (text) => {
    agrees(text);
  });

  test('never differs from it on texts made of its pieces', () => {
    const pieces = [
      'a',
      'b:',
      'c: ',
      '- ',
      '-',
      ' ',
      '  ',
      '\n',
      '\n  ',
      '\n- ',
      '[',
      ']',
      ', ',
      '{}',
      '"',
      "'",
      '1',
      '0',
      '.',
      ':',
      '#',
      'true',
      'null',
      '---',
      '\n---\n',
      'x y',
      '/',
      '?',
      '!',
      '&',
      '*',
      '|',
      '>',
      '%',
      '@',
      '`',
      '=',
      '~',
      '<<',
      '\\',
      ',',
      'e',
      '_',
      '+',
      '(',
      ')',
    ];
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 16 }).map((parts) => parts.join(''));
    let read = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          text.map((value) => `a: ${value}`),
          text.map((value) => `a:\n  - ${value}\n  - b`),
        ),
        (value) => {
          if (agrees(value)) read += 1;
        },
      ),
      { numRuns: 5_000, seed: 7 },
    );
    expect(read).toBeGreaterThan(200);
  });

  test('gives up on nesting without end', () => {
    const deep = Array.from({ length: 100 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('');
    expect(readPlainYaml(deep)).toBeUndefined();
  });
});
