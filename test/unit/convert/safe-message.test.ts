import { expect, test } from 'vitest';
import { safeMessage } from '../../../src/convert/safe-message.ts';

test.each([
  ['key_findings is missing', 'key_findings is missing'],
  ['no model hf-internal-testing/tiny', 'no model hf-internal-testing/tiny'],
  ['bad key_error_handling', 'bad key_error_handling'],
  ['bad hf_abcDEF123456', 'bad [redacted]'],
  ['bad key-1a2b3c4d', 'bad [redacted]'],
  ['bad key_***abc', 'bad [redacted]'],
  ['bad sk-abcdefgh', 'bad [redacted]'],
  ['bad AIzaSyA1234567890abc', 'bad [redacted]'],
  ['bad Bearer abc', 'bad [redacted]'],
])('%s: %s', (text, shown) => {
  expect(safeMessage(text)).toBe(shown);
});
