import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { timeText } from '../../src/resources/time.ts';
import { eventually } from '../support/eventually.ts';
import { condition, resourcePathOf } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

// Rotation on a schedule, and the warning before a key expires, with a controller whose clock is two days fast.
const dayMs = 86_400_000;
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['key-schedule'], roles: ['gateway'] });
  const controller = await stage.start('controller', {
    env: {
      TEST_CLOCK_SKEW_SECONDS: `${2 * 86_400}`,
      NODE_OPTIONS: `--import=${fileURLToPath(new URL('../support/clock-skew.ts', import.meta.url))}`,
    },
  });
  await controller.whenReady();
  await stage.addNode('node', { upstream: { models: ['m'] } });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const textOf = async (name: string) => (await stage.resources.secret(stage.home, name))?.text['apiKey'];

test('a key is issued anew after so many days, and both open during the overlap', async () => {
  const { resources, home, cluster } = stage;
  await resources.create('APIKey', home, 'often', { secretName: 'often', rotation: { every: 1 } });
  const issued = await stage.until(
    'issued',
    'APIKey',
    'often',
    (key) => condition(key, 'Ready') === 'True KeyIssued',
  );
  const old = (await textOf('often')) ?? '';
  const nextMs = Date.parse(String(issued.status?.['nextRotationTime']));
  expect(Math.round((nextMs - Date.now()) / dayMs)).toBe(3);
  // Makes the key two days old. Writing its status also triggers a reconcile.
  const hashes = issued.status?.hashes?.map((each) => ({ ...each, createdTime: timeText(Date.now()) }));
  const path = `${resourcePathOf('APIKey', home, 'often')}/status`;
  await cluster.client.ask('PATCH', path, { body: { status: { hashes } } });
  await eventually('another key is in the Secret', async () => (await textOf('often')) !== old);
  const next = (await textOf('often')) ?? '';
  for (const text of [old, next]) {
    await eventually('it opens', async () => (await stage.caller(text).chat('m')).status === 200);
  }
  const { status, spec } = await stage.until(
    'rotated',
    'APIKey',
    'often',
    (key) => condition(key, 'Ready') === 'True RotationOverlap',
  );
  expect(status?.hashes?.map(({ revision }) => revision)).toEqual([1, 0]);
  expect(spec['rotation']).toEqual({ revision: 0, every: 1, overlapSeconds: 3_600 });
  // Once, not at every reconcile.
  await resources.patch('APIKey', home, 'often', { spec: { displayName: 'x' } });
  await stage.until('seen', 'APIKey', 'often', (key) => key.status?.['observedGeneration'] === 2);
  expect(await textOf('often')).toBe(next);
});

test('people are warned seven days before a key expires', async () => {
  const { resources, home, cluster } = stage;
  const expirationTime = timeText(Date.now() + 8 * dayMs);
  await resources.create('APIKey', home, 'ending', { secretName: 'ending', expirationTime });
  await stage.until('warned', 'APIKey', 'ending', (key) => condition(key, 'Ready') === 'True ExpiresSoon');
  const events = `/apis/events.k8s.io/v1/namespaces/${home}/events`;
  await eventually('an Event says so', async () => {
    const { items } = (await cluster.client.ask('GET', events)) as {
      items: { reason: string; type: string; regarding: { name: string } }[];
    };
    return items.some(
      ({ reason, type, regarding }) =>
        reason === 'ExpiresSoon' && type === 'Warning' && regarding.name === 'ending',
    );
  });
  const metrics = await stage.controllers[0]?.probe('/metrics');
  expect(metrics?.body).toContain(
    `modelgateway_key_expiration_timestamp_seconds{kind="APIKey",key="${home}/ending"} ${Date.parse(expirationTime) / 1_000}`,
  );
});
