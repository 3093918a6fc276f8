import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { imageFlags } from '../../support/image-flags.ts';

test('the chart, whose NODE_OPTIONS take the place of the image’s, bounds young objects as the image does', () => {
  const pods = readFileSync(
    new URL('../../../charts/model-gateway/templates/_pods.tpl', import.meta.url),
    'utf8',
  );
  const [, options = ''] = /name: NODE_OPTIONS\n\s+value: .*"(.*?)"/.exec(pods) ?? [];
  expect(options.split(' ')).toContain(imageFlags);
});
