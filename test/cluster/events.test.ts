import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../support/eventually.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['events'], roles: ['controller'] });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const microTime = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
const eventSchema = z.object({
  regarding: z.object({ kind: z.string(), name: z.string(), uid: z.string(), apiVersion: z.string() }),
  action: z.string().regex(/^[A-Z][A-Za-z]+$/),
  reason: z.string(),
  note: z.string().max(1_024),
  type: z.enum(['Normal', 'Warning']),
  eventTime: microTime,
  reportingController: z.literal('modelgateway.dev/controller'),
  reportingInstance: z.literal('controller-0'),
  series: z.object({ count: z.int(), lastObservedTime: microTime }).optional(),
});

async function eventsOf(name: string) {
  const path = `/apis/events.k8s.io/v1/namespaces/${stage.home}/events`;
  const { items } = (await stage.cluster.client.ask('GET', path)) as { items: unknown[] };
  return items.map((item) => eventSchema.parse(item)).filter(({ regarding }) => regarding.name === name);
}

const untilEvent = (name: string, reason: string, note: RegExp, count = 1) =>
  eventually(`${reason} of ${name}`, async () => {
    const events = await eventsOf(name);
    return events.some(
      (event) => event.reason === reason && note.test(event.note) && (event.series?.count ?? 1) === count,
    );
  });

let requests = 0;
/** Asks for a sync and waits until it was done. */
async function sync(name: string): Promise<void> {
  requests += 1;
  const wanted = String(requests);
  const annotations = { 'modelgateway.dev/sync-requested-at': wanted };
  await stage.resources.patch('UpstreamNode', stage.home, name, { metadata: { annotations } });
  await stage.until(
    'synced',
    'UpstreamNode',
    name,
    (node) => node.status?.['lastHandledSyncRequest'] === wanted,
  );
}

test('models that come and go are told, and so is each change of phase; repeats are folded into one Event', async () => {
  const upstream = await stage.addNode('node', { upstream: { models: ['one', 'two'] } });
  const { metadata } = await stage.until(
    'ready',
    'UpstreamNode',
    'node',
    (node) => node.status?.phase === 'ready',
  );
  await untilEvent('node', 'ModelAdded', /^Added 2 models: one, two\.$/);
  await untilEvent('node', 'Healthy', /ready/);
  for (const event of await eventsOf('node')) {
    expect(event.regarding).toMatchObject({
      kind: 'UpstreamNode',
      uid: metadata.uid,
      apiVersion: 'modelgateway.dev/v1alpha1',
    });
    expect(event.type).toBe('Normal');
  }

  upstream.answers.models = ['one', 'three'];
  await sync('node');
  await untilEvent('node', 'ModelAdded', /^Added 1 model: three\.$/);
  await sync('node');
  expect((await eventsOf('node')).map(({ reason }) => reason)).not.toContain('ModelRemoved');
  await sync('node');
  await untilEvent('node', 'ModelRemoved', /^Removed 1 model: two\.$/);

  for (const count of [1, 2, 3]) {
    upstream.answers.modelsStatus = 503;
    await sync('node');
    await untilEvent('node', 'UpstreamError', /^The node went from ready to error/, count);
    upstream.answers.modelsStatus = 200;
    await sync('node');
    await untilEvent('node', 'Recovered', /^The node went from error to ready/, count);
  }
  const told = (await eventsOf('node')).filter(({ reason }) => reason === 'UpstreamError');
  expect(told).toHaveLength(1);
  expect(told[0]).toMatchObject({ type: 'Warning', series: { count: 3 } });
  const times = told.map(({ eventTime, series }) => [eventTime, series?.lastObservedTime ?? '']);
  for (const [first = '', last = ''] of times) expect(last > first).toBe(true);
});

test('what becomes of a key is told, without the key', async () => {
  const { resources, home } = stage;
  await resources.create('APIKey', home, 'key', { secretName: 'key-secret', rotation: { revision: 1 } });
  await untilEvent('key', 'KeyIssued', /./);
  await resources.patch('APIKey', home, 'key', { spec: { rotation: { revision: 2, overlapSeconds: 1 } } });
  await eventually('the rotation is told', async () =>
    (await eventsOf('key')).some(({ reason }) => reason === 'KeyRotated' || reason === 'RotationOverlap'),
  );
  await stage.cluster.client.ask('DELETE', `/api/v1/namespaces/${home}/secrets/key-secret`);
  await untilEvent('key', 'SecretReissued', /./);
  const text = (await resources.secret(home, 'key-secret'))?.text['apiKey'] ?? '';
  expect(text).toMatch(/^mgk_/);
  expect(JSON.stringify(await eventsOf('key'))).not.toContain(text);
  await resources.addSecret(home, 'taken', { a: 'b' });
  await resources.create('APIKey', home, 'refused', { secretName: 'taken' });
  await untilEvent('refused', 'SecretConflict', /taken/);
  expect((await eventsOf('refused')).map(({ type }) => type)).toEqual(['Warning']);
});
