import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Stored } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

// What others wrote into the Secret of a key stays when the controller changes it.
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['key-secrets'], roles: ['controller'] });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const pathOf = (name: string) => `/api/v1/namespaces/${stage.home}/secrets/${name}`;
const textOf = async (name: string) => (await stage.resources.secret(stage.home, name))?.text['apiKey'];

test.each([
  ['a rotation', { spec: { rotation: { revision: 1 } } }],
  ['a changed template', { spec: { secretTemplate: { labels: { team: 'b' } } } }],
])('%s keeps finalizers, entries, labels and owners of others', async (what, change) => {
  const name = what.replace(/^a /, '').replace(' ', '-');
  const { client } = stage.cluster;
  await stage.resources.create('APIKey', stage.home, name, { secretName: name });
  await eventually('a key is issued', async () => (await textOf(name)) !== undefined);
  const before = await textOf(name);
  const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'a-uid' };
  const { metadata } = (await client.ask('GET', pathOf(name))) as {
    metadata: { ownerReferences: object[] };
  };
  await client.ask('PATCH', pathOf(name), {
    body: {
      metadata: {
        finalizers: ['example.com/hold'],
        labels: { mine: 'yes' },
        ownerReferences: [...metadata.ownerReferences, other],
      },
      data: { note: Buffer.from('kept').toString('base64') },
    },
  });
  await stage.resources.patch('APIKey', stage.home, name, change);
  await eventually('the Secret is changed', async () => {
    const now = (await client.ask('GET', pathOf(name))) as { metadata: { labels: object } };
    return (await textOf(name)) !== before || 'team' in now.metadata.labels;
  });
  const after = await stage.resources.secret(stage.home, name);
  expect(after?.metadata).toMatchObject({
    finalizers: ['example.com/hold'],
    labels: { mine: 'yes', 'app.kubernetes.io/managed-by': 'model-gateway' },
    ownerReferences: [expect.objectContaining({ kind: 'APIKey', name }), other],
    managedFields: expect.arrayContaining([
      expect.objectContaining({ manager: 'modelgateway-controller', operation: 'Apply' }),
    ]),
  });
  expect(after?.text['note']).toBe('kept');
  await client.ask('PATCH', pathOf(name), { body: { metadata: { finalizers: null } } });
});

test('a model that comes and goes reads no Secret of the keys that may use it', async () => {
  const { resources, home } = stage;
  const names = Array.from({ length: 20 }, (_, number) => `late-${number}`);
  for (const name of names)
    await resources.create('APIKey', home, name, { secretName: name, models: ['late'] });
  const resolved = async (status: string): Promise<void> => {
    for (const name of names) {
      const wanted = ({ status: now }: Stored) =>
        now?.conditions?.find(({ type }) => type === 'ModelsResolved')?.status === status;
      await stage.until(`${name}: ${status}`, 'APIKey', name, wanted);
    }
  };
  await resolved('False');
  const reads = async (): Promise<number> => {
    const { body } = (await stage.controllers[0]?.probe('/metrics')) ?? { body: '' };
    const lines = body.match(/^rest_client_requests_total\{[^}]*method="GET"[^}]*\} \d+$/gm) ?? [];
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const before = await reads();
  expect(before).toBeGreaterThan(20);
  const node = { baseURL: 'http://127.0.0.1:9/v1', manualModels: ['late'] };
  await resources.create('UpstreamNode', home, 'late', node);
  await resolved('True');
  await resources.remove('UpstreamNode', home, 'late');
  await resolved('False');
  // The watches may have been renewed, and the published sealing key is read at times.
  expect((await reads()) - before).toBeLessThan(10);
});
