import fc from 'fast-check';
import { expect, test } from 'vitest';
import { documentValue, editYaml } from '../../../../src/cli/edit/edit-yaml.ts';
import { editedDocument } from '../../../fuzz/edited-document.ts';

test('whatever is edited in whatever document, every line that is not about it stays byte for byte', () => {
  const details = fc.check(editedDocument, { numRuns: 1_000, seed: 7 });
  expect(details.failed, fc.defaultReportMessage(details)).toBe(false);
  expect(details.numSkips).toBeLessThan(500);
});

test.each([
  ['alpha: |\r\n  a\r\n\r\n    deeper\r\ndelta: [one]\r\n   ', 'delta'],
  ['e: |-\n  first\nmodels:\n  - name: m\n\n   ', 'models'],
])('blanks on a last line that has no end do not become part of the block above: %j', (text, key) => {
  const { [key]: _, ...wanted } = documentValue(text, 0) as Record<string, unknown>;
  const after = editYaml(text, 0, wanted);
  expect(documentValue(after, 0)).toEqual(wanted);
  expect(after.trimEnd()).toBe(text.slice(0, text.indexOf(key)).trimEnd());
});
