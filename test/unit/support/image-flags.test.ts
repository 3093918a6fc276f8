import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { imageOptions } from '../../support/image-flags.ts';

test('the chart, whose NODE_OPTIONS take the place of the image’s, tells Node.js the same but for the share of memory', () => {
  const pods = readFileSync(
    new URL('../../../charts/model-gateway/templates/_pods.tpl', import.meta.url),
    'utf8',
  );
  const [, options = ''] = /name: NODE_OPTIONS\n\s+value: .*"(.*?)"/.exec(pods) ?? [];
  expect(options).toMatch(new RegExp(`^--max-old-space-size-percentage=%v ${imageOptions}$`));
});
