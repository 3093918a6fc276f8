import { expect, test } from 'vitest';
import { rowOf } from '../../../src/console/rows.ts';
import { apiKeyOf, nodeOf } from '../controller/resources.ts';

test('a display name cannot turn the text beside it around', () => {
  const displayName = 'safe\u202Egpj.exe';
  for (const resource of [nodeOf('n', { displayName }), apiKeyOf('k', { secretName: 's', displayName })]) {
    const row = rowOf({ resource, source: 's' } as Parameters<typeof rowOf>[0]);
    expect(row.displayName).toBe('safe\\u{202e}gpj.exe');
  }
});
