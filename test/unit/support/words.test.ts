import { expect, test } from 'vitest';
import { privateWords } from '../../../scripts/words.ts';

const wrong: readonly (readonly [path: string, text: string, found: string])[] = [
  ['a.ts', '// Starts the watch anew.', '1: "anew": write "again"'],
  ['a.ts', 'const a = 1;\n\n/**\n * One.\n * Retried in vain.\n */', '5: "in vain": write "without success"'],
  ['a.ts', `log.warn('Whoever asks is refused');`, '1: "Whoever": write "the caller, the person who"'],
  [
    'a.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source of a template
    'const a = `of ${b.map((c) => `${c} is gone`)} and`;',
    '1: "is gone": write "was deleted, is closed, no longer exists"',
  ],
  ['a.ts', '// Its caller is\n// told.', '1: "is told": write "is notified, is informed"'],
  ['a.ts', '/**\n * Its caller is\n * told.\n */', '2: "is told": write "is notified, is informed"'],
  ['a.md', '```\nanew\n```\nA change bites.', '4: "bites": write "takes effect"'],
  ['a.yaml', 'word: anew\nb: 1 # for ever', '2: "for ever": write "indefinitely, until restart"'],
];

test.each(wrong)('in %s: %j', (path, text, found) => {
  expect(privateWords(path, text)).toEqual([found]);
});

test.each([
  ['a.ts', 'const anew = told.of(whoever / meanwhile);'],
  ['a.ts', 'const a = /in vain|"/; // A regular expression, and a quote in it.'],
  ['a.ts', '// Runs once in a turn of the event loop.'],
  ['a.md', 'The field `meanwhile`'],
  ['a.yaml', 'word: anew'],
])('%s is fine: %j', (path, text) => {
  expect(privateWords(path, text)).toEqual([]);
});
