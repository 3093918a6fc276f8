import { expect, test } from 'vitest';
import { withUnknownWishes } from '../../../src/controller/upstream-node/unknown-wishes.ts';
import { upstreamNodeSchema } from '../../../src/resources/upstream-node.ts';

const synced = {
  type: 'ModelsSynced',
  status: 'True',
  reason: 'ModelsSynced',
  message: 'The list.',
} as const;

function node(models: readonly object[]) {
  return upstreamNodeSchema.parse({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { name: 'n', namespace: 'default' },
    spec: { baseURL: 'https://models.example/v1', models },
  });
}

const known = [{ name: 'a' }];
const wrong = node([
  { name: 'a', card: { contextTokens: 1 } },
  { name: 'b', card: { contextTokens: 1 } },
  { name: 'c', aliases: ['x'] },
  { name: 'd', enabled: false },
]);

test('cards and aliases of models that the node does not have are named', () => {
  const { message, status, reason } = withUnknownWishes(synced, wrong, known);
  expect({ status, reason }).toEqual({ status: 'True', reason: 'ModelsSynced' });
  expect(message).toBe(
    'The list. No effect: spec.models has a card or aliases for "b", "c", and the node has no such model. Correct the name, or add it to spec.manualModels.',
  );
});

test('it is said once, and no longer when the names are right', () => {
  const said = withUnknownWishes(synced, wrong, known);
  expect(withUnknownWishes(said, wrong, known)).toEqual(said);
  expect(withUnknownWishes(said, wrong, [...known, { name: 'b' }, { name: 'c' }])).toEqual(synced);
});

test('a failed sync, which knows no list, says nothing of it', () => {
  const failed = { ...synced, status: 'False', reason: 'UpstreamError' } as const;
  expect(withUnknownWishes(failed, wrong, [])).toEqual(failed);
});
