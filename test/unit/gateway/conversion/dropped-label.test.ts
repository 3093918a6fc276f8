import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { droppedLabel } from '../../../../src/gateway/conversion/dropped-label.ts';

const fields = ['messages', 'responses', 'completions'].flatMap((format) => {
  const page = readFileSync(new URL(`../../../../src/convert/${format}.md`, import.meta.url), 'utf8');
  const [table = ''] = page.split(/\n(?:Content:|Items of)/);
  return [...table.matchAll(/^\| `([\w.[\]]+)` \| dropped/gm)].map(([, field = '']) => field);
});

it.each(fields)('counts %s under its own name', (field) => {
  expect(droppedLabel(field.replace('[]', '[3]'))).toBe(field.replace('[]', ''));
});

it('counts what is not listed for its first field, and what nobody knows as other', () => {
  expect(droppedLabel('thinking.foo')).toBe('thinking');
  expect(droppedLabel('messages[1].content[0].source.foo')).toBe('messages');
  expect(droppedLabel('foo[0].bar')).toBe('other');
});
