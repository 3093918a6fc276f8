import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiProxy, startApiProxy } from '../faults/api-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { reportOf, reportPath } from '../support/reports.ts';
import { condition, type Stored } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
let proxy: ApiProxy;
beforeAll(async () => {
  stage = await startStage({
    namespaces: ['in-force'],
    roles: ['controller', 'gateway', 'gateway', 'gateway'],
  });
  proxy = await startApiProxy(stage.cluster.address);
  await stage.addNode('node', { upstream: { models: ['m'] } });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await proxy?.stop();
});

const inForce = (key: Stored) => key.status?.conditions?.find(({ type }) => type === 'InForce');
const isProven = (key: Stored) =>
  condition(key, 'InForce') === 'True Applied' &&
  (inForce(key) as { observedGeneration?: number }).observedGeneration === key.metadata.generation;
const disable = (name: string) =>
  stage.resources.patch('APIKey', stage.home, name, { spec: { enabled: false } });

test('a new key, a disabled one and a rotated one are proven to be applied by all gateways', async () => {
  await stage.resources.addKey(stage.home, 'app');
  const made = await stage.until('in force', 'APIKey', 'app', isProven);
  expect(inForce(made)?.message).toBe('3/3 gateways');
  await disable('app');
  await stage.until('in force', 'APIKey', 'app', (key) => isProven(key) && key.spec['enabled'] === false);
  await stage.resources.create('APIKey', stage.home, 'made', {
    secretName: 'made-key',
    rotation: { revision: 1, overlapSeconds: 0 },
  });
  await stage.until('in force', 'APIKey', 'made', isProven);
  await stage.resources.patch('APIKey', stage.home, 'made', { spec: { rotation: { revision: 2 } } });
  const rotated = await stage.until(
    'rotated',
    'APIKey',
    'made',
    (key) => isProven(key) && key.status?.hashes?.[0]?.revision === 2,
  );
  expect(rotated.status?.hashes).toHaveLength(1);
});

test('it is written once per change: at rest nothing is', async () => {
  await stage.resources.addKey(stage.home, 'rest');
  const proven = await stage.until('in force', 'APIKey', 'rest', isProven);
  // Two heartbeats of each gateway.
  await new Promise((resolve) => setTimeout(resolve, 21_000));
  const later = await stage.resources.get('APIKey', stage.home, 'rest');
  expect(later.metadata.resourceVersion).toBe(proven.metadata.resourceVersion);
}, 60_000);

test('kubectl wait sees it', async () => {
  await stage.resources.addKey(stage.home, 'waited');
  await stage.until('in force', 'APIKey', 'waited', isProven);
  await disable('waited');
  const waiting = ['wait', '-n', stage.home, '--for=condition=InForce', 'apik/waited', '--timeout=20s'];
  expect((await stage.cluster.kubectl(waiting)).code).toBe(0);
  const wide = await stage.cluster.kubectl(['get', 'apik', 'waited', '-n', stage.home, '-o', 'wide']);
  expect(wide.stdout).toMatch(/IN FORCE/);
});

test('a gateway that is cut off makes it False, then Unknown, by name, and True when it is back', async () => {
  const gateway = await stage.start('gateway', { podName: 'cut-off', kubeconfig: proxy.kubeconfig });
  await gateway.whenReady();
  const text = await stage.resources.addKey(stage.home, 'cut');
  const proven = await stage.until('in force', 'APIKey', 'cut', isProven);
  expect(inForce(proven)?.message).toBe('4/4 gateways');
  const caller = stage.caller(text, stage.gateways.indexOf(gateway));
  expect((await caller.chat('m')).status).toBe(200);
  proxy.misbehave(() => ({ kind: 'delay', ms: 600_000 }));
  proxy.cut();
  const changed = await disable('cut');
  const seen = new Set<string | undefined>();
  const unknown = await stage.until(
    'unknown',
    'APIKey',
    'cut',
    (key) => {
      // The condition of the generation before says nothing of this change.
      const { observedGeneration } = (inForce(key) ?? {}) as { observedGeneration?: number };
      if (observedGeneration === changed.metadata.generation) seen.add(inForce(key)?.status);
      return condition(key, 'InForce') === 'Unknown GatewaySilent';
    },
    { timeoutMs: 120_000 },
  );
  expect(inForce(unknown)?.message).toMatch(/^3\/4 gateways; no report for 45 s: cut-off\./);
  expect([...seen]).toEqual(['False', 'Unknown']);
  // It is as the condition says: the gateway still accepts the key.
  expect((await caller.chat('m')).status).toBe(200);
  proxy.misbehave(undefined);
  proxy.cut();
  await stage.until('in force', 'APIKey', 'cut', isProven, { timeoutMs: 90_000 });
  expect((await caller.chat('m')).status).toBe(401);
  await gateway.stop();
}, 300_000);

describe('a report', () => {
  const send = (name: string, spec: Record<string, unknown>) =>
    stage.cluster.client.ask('POST', reportPath(stage.home), { body: reportOf(name, spec) });
  const remove = (name: string) => stage.cluster.client.ask('DELETE', reportPath(stage.home, name));

  test.each([
    ['from the future', { apiKeys: '99999999999' }],
    ['without a number', { apiKeys: 'x' }],
  ])(
    '%s is not believed: it is said, and the change is not proven',
    async (_what, versions) => {
      const name = `absurd-${'x' in versions ? 1 : versions.apiKeys.length}`;
      await send(name, { applied: [{ namespace: stage.home, ...versions }] });
      const said = () => stage.controllers[0]?.log().filter(({ msg }) => msg?.includes('not believed')) ?? [];
      await eventually('it is said', async () => said().some((line) => JSON.stringify(line).includes(name)));
      await stage.resources.addKey(stage.home, name);
      const key = await stage.until(
        'unknown',
        'APIKey',
        name,
        (each) => condition(each, 'InForce') === 'Unknown GatewaySilent',
      );
      expect(inForce(key)?.message).toContain(name);
      await remove(name);
      await stage.until('in force', 'APIKey', name, isProven);
    },
    60_000,
  );

  test('of a gateway that has stopped is removed, and one of another namespace does not count', async () => {
    await send('elsewhere', { applied: [{ namespace: 'other', apiKeys: '1' }] });
    await send('stopped', { state: 'Stopped', applied: [{ namespace: stage.home, apiKeys: '1' }] });
    await stage.resources.addKey(stage.home, 'beside');
    const key = await stage.until('in force', 'APIKey', 'beside', isProven);
    expect(inForce(key)?.message).toBe('3/3 gateways');
    await eventually('it is removed', async () => {
      const { status } = await stage.cluster.client.send('GET', reportPath(stage.home, 'stopped'));
      return status === 404;
    });
    await remove('elsewhere');
  });
});
