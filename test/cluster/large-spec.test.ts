import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['large'] });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('a node whose spec takes most of what etcd stores still gets a status, with the models that fit', async () => {
  const manualModels = Array.from({ length: 1_000 }, (_, index) => `${index}-`.padEnd(512, 'm'));
  const models = Array.from({ length: 150 }, (_, index) => ({ name: `${index}-`.padEnd(512, 'w') }));
  await stage.addNode('large', { spec: { manualModels, models, sync: { discovery: 'Never' } } });
  const node = await stage.until(
    'it has a status',
    'UpstreamNode',
    'large',
    ({ status }) => (status?.models?.length ?? 0) > 0,
  );
  expect(node.status?.['modelsTruncated']).toBe(true);
  expect(node.status?.models?.length).toBeLessThan(1_000);
  // Gateways take manual models from the spec.
  const key = await stage.resources.addKey(stage.home, 'caller');
  expect(await stage.caller(key).models()).toHaveLength(1_000);
});
