import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiProxy, startApiProxy } from '../faults/api-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { type Stage, startStage } from '../support/stage.ts';

// How a controller begins and ends to lead, with an API server whose answers each test sets.
let stage: Stage;
let proxy: ApiProxy;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['leader'], roles: [] });
  proxy = await startApiProxy(stage.cluster.address);
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await proxy?.stop();
});

test('a controller without complete lists leaves the lease to one that has them', async () => {
  proxy.misbehave(({ url }) =>
    url.includes('/modelgateway.dev/') ? { kind: 'status', status: 403, reason: 'Forbidden' } : undefined,
  );
  const blind = await stage.start('controller', { kubeconfig: proxy.kubeconfig });
  // The election is tried every two seconds.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const leads = (process: typeof blind) => process.log().some(({ msg }) => msg === 'Started leading');
  expect(leads(blind)).toBe(false);
  const whole = await stage.start('controller');
  await eventually('the other leads', () => leads(whole), 10_000);
  expect(await whole.stop('SIGTERM')).toBe(0);
  proxy.misbehave(undefined);
  await eventually('the first leads as soon as it has its lists', () => leads(blind), 60_000);
  expect(await blind.stop('SIGTERM')).toBe(0);
});

test('Events that were recorded before SIGTERM are written', async () => {
  const count = 8;
  const { resources, home } = stage;
  proxy.misbehave(({ method, url }) =>
    method === 'POST' && url.includes('/events') ? { kind: 'delay', ms: 300 } : undefined,
  );
  const controller = await stage.start('controller', { kubeconfig: proxy.kubeconfig });
  await controller.whenReady();
  const names = Array.from({ length: count }, (_, index) => `key-${index}`);
  await Promise.all(names.map((name) => resources.create('APIKey', home, name, { secretName: name })));
  await eventually('all are issued', async () => {
    const keys = await Promise.all(names.map((name) => resources.get('APIKey', home, name)));
    return keys.every(({ status }) => (status?.hashes ?? []).length > 0);
  });
  expect(await controller.stop('SIGTERM')).toBe(0);
  const path = `/apis/events.k8s.io/v1/namespaces/${home}/events`;
  const { items } = (await stage.cluster.client.ask('GET', path)) as {
    items: { reason: string; regarding: { name: string } }[];
  };
  const issued = items.filter(({ reason }) => reason === 'KeyIssued').map(({ regarding }) => regarding.name);
  expect(issued.sort()).toEqual(names);
});
