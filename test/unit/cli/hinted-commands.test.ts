import { expect, test } from 'vitest';
import { hintedCommands } from '../../../src/cli/hinted-commands.ts';

const twice = "`model-gateway node edit n --new-models enabled`, then `model-gateway model enable n '*'`.";

test('commands that a message proposes go where this call went', () => {
  expect(hintedCommands(twice, { manifests: '/a folder/$&' })).toBe(
    "`model-gateway --manifests '/a folder/$&' node edit n --new-models enabled`, then `model-gateway --manifests '/a folder/$&' model enable n '*'`.",
  );
  expect(hintedCommands(twice, {})).toBe(twice);
  expect(hintedCommands('model-gateway node sync n', { namespace: 'team', context: 'prod' })).toBe(
    'model-gateway --context prod -n team node sync n',
  );
  expect(hintedCommands('The model-gateway controller', { namespace: 'team' })).toBe(
    'The model-gateway controller',
  );
});
