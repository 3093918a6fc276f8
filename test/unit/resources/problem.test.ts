import { expect, test } from 'vitest';
import { printable } from '../../../src/resources/problem.ts';

// People paste the key where the name of its Secret belongs.
test.each([
  [['spec', 'apiKeySecretRef', 'name']],
  [['spec', 'apiKeySecretRef']],
  [['spec', 'headers', 0, 'secretRef', 'name']],
  [['spec', 'tls', 'clientCertificateSecretRef', 'name']],
  [['spec', 'secretName']],
])('what %j holds is not shown', (path) => {
  expect(printable(path, 'sk-proj-AbCdEf0123456789')).toBeUndefined();
});

test('other texts are shown, short and on one line', () => {
  expect(printable(['spec', 'authentication'], 'Bear\ner')).toBe(String.raw`"Bear\ner"`);
  expect(printable(['spec', 'secretName'], 'My_Secret')).toBe('"My_Secret"');
  expect(printable(['metadata', 'name'], 'x'.repeat(100))).toBe(`"${'x'.repeat(61)}..."`);
});
