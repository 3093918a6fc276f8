import { describe, expect, test } from 'vitest';
import type { UpstreamConnection } from '../../../src/upstream/connection.ts';
import { maskCredentials, maskText } from '../../../src/upstream/mask-credentials.ts';

const connection: UpstreamConnection = {
  baseURL: 'http://127.0.0.1:1/v1',
  authentication: 'Bearer',
  credential: 'se/cret"+key.0\n',
  headers: [
    { name: 'x-extra', value: 'another-secret' },
    { name: 'x-longer', value: 'another-secret-that-is-longer' },
    { name: 'x-short', value: 'none' },
    { name: 'x-foreign', value: 'schlüssel' },
  ],
  timeouts: { connectSeconds: 1, firstByteSeconds: 1, idleSeconds: 1, totalSeconds: 1 },
};

describe('in every form that JSON gives it', () => {
  test.each([
    ['as it is', 'you sent Bearer se/cret"+key.0!', 'you sent Bearer [redacted]!'],
    ['escaped', JSON.stringify({ e: 'se/cret"+key.0' }), '{"e":"[redacted]"}'],
    ['with escaped slashes', String.raw`se\/cret\"+key.0`, '[redacted]'],
    ['with code points', String.raw`se/cret\u0022\u002bkey.0 \u002B`, String.raw`[redacted] \u002B`],
    [
      'twice, and another',
      'se/cret"+key.0 another-secret se/cret"+key.0',
      '[redacted] [redacted] [redacted]',
    ],
    ['the longer of two', 'another-secret-that-is-longer', '[redacted]'],
    ['beyond ASCII', 'schlüssel', '[redacted]'],
    ['something like it', 'se/cret"+keyx0 none', 'se/cret"+keyx0 none'],
  ])('%s', (_name, text, masked) => {
    expect(maskText(text, connection)).toBe(masked);
  });
});

test('what holds none of it stays the same bytes', () => {
  const bytes = Buffer.from([0xff, 0x20, 0x00]);
  expect(maskCredentials(bytes, connection)).toBe(bytes);
  expect(maskCredentials(bytes, { ...connection, credential: '', headers: [] })).toBe(bytes);
});
