import { expect, test } from 'vitest';
import { hintAt } from '../../../src/console/page/words.ts';

test.each([
  [
    'an absent value is an empty field',
    'When the key ends; absent means never.',
    'When the key ends; empty means never.',
  ],
  [
    'absent and empty are the same field',
    'Names to keep; absent or empty keeps all.',
    'Names to keep; empty keeps all.',
  ],
])('%s', (_, description, hint) => {
  expect(hintAt('spec.any', description)).toBe(hint);
});

test('the patterns of models name each other by their labels', () => {
  expect(hintAt('spec.sync.models.exclude', 'it beats include')).toContain('“Models to keep”');
});
