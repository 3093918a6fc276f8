import { expect, test } from 'vitest';
import { hintAt, inWords, pathsInWords } from '../../../src/console/page/words.ts';

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

test.each([
  ['add "m" to spec.manualModels', 'add "m" to “Manual models”'],
  ['the node is disabled (spec.enabled: false)', 'the node is disabled (“Enabled”: false)'],
  ['models start disabled (spec.sync.newModels)', 'models start disabled (“Sync › New models”)'],
])('a path of a field is said by its labels: %s', (text, wanted) => {
  expect(pathsInWords(text)).toBe(wanted);
  expect(inWords(text)).toBe(wanted);
});

test('the name of a model that looks like a field stays in a text that quotes models', () => {
  expect(pathsInWords('"newModels" is disabled in spec.models')).toBe('"newModels" is disabled in “Models”');
});
