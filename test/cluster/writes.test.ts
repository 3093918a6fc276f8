import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RoleProcess } from '../support/processes.ts';
import { condition, resourcePathOf, type Stored } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

// Each write of a status is sent to every gateway, so there must be none without news.
const windowMs = 35_000;
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['writes'] });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Versions of everything that the product writes but its lease, by kind and name. */
async function versions(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const path of [
    '/apis/modelgateway.dev/v1alpha1/namespaces/NAMESPACE/upstreamnodes',
    '/apis/modelgateway.dev/v1alpha1/namespaces/NAMESPACE/apikeys',
    '/apis/modelgateway.dev/v1alpha1/namespaces/NAMESPACE/masterkeys',
    '/apis/events.k8s.io/v1/namespaces/NAMESPACE/events',
    '/api/v1/namespaces/NAMESPACE/secrets',
    '/api/v1/namespaces/NAMESPACE/configmaps',
  ]) {
    const { kind, items } = (await stage.cluster.client.ask(
      'GET',
      path.replace('NAMESPACE', stage.home),
    )) as {
      kind: string;
      items: Stored[];
    };
    for (const { metadata } of items) found[`${kind} ${metadata.name}`] = metadata.resourceVersion;
  }
  return found;
}

/** Requests that could have changed something, whether or not they did; renewals of the lease are PUTs. */
async function writeRequests(process: RoleProcess | undefined): Promise<string[]> {
  const { body } = (await process?.probe('/metrics')) ?? { body: '' };
  return body
    .split('\n')
    .filter((line) => /^rest_client_requests_total\{.*method="(POST|PATCH|DELETE)"/.test(line))
    .sort();
}

/** Writes conditions as another manager, one of them of our own types, such as a backup that restores statuses. */
async function leaveConditions(name: string): Promise<void> {
  const path = resourcePathOf('UpstreamNode', stage.home, name);
  const { status } = await stage.resources.get('UpstreamNode', stage.home, name);
  const left = ['Stalled', 'example.com/Audited'].map((type) => ({
    ...{ type, status: 'True', reason: 'Left', message: 'another manager wrote this' },
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }));
  const conditions = [...(status?.conditions ?? []), ...left];
  await stage.cluster.client.ask('PATCH', `${path}/status`, { body: { status: { conditions } } });
}

test('while nothing changes nothing is written, however often nodes are checked', async () => {
  const { home, resources } = stage;
  const healthCheck = { intervalSeconds: 10, failureThreshold: 2, timeoutSeconds: 1 };
  const well = await stage.addNode('well', { spec: { healthCheck } });
  const away = await stage.addNode('away', { spec: { healthCheck } });
  away.pause();
  const refusing = await stage.addNode('refusing', {
    upstream: { apiKey: 'sk-other' },
    spec: { healthCheck },
  });
  const failing = await stage.addNode('failing', { upstream: { modelsStatus: 503 }, spec: { healthCheck } });
  const slow = await stage.addNode('slow', { spec: { healthCheck } });
  // Hangs once it was synced: a check waits for a second, a sync for half a minute.
  await stage.until('slow is synced', 'UpstreamNode', 'slow', (node) => node.status?.phase === 'ready');
  slow.respondWith('/models', { kind: 'hang' });
  const unsteady = await stage.addNode('unsteady', { spec: { healthCheck } });
  // Another text each time must not make another status each time.
  unsteady.respondWith('/models', (_, count) => ({
    kind: 'answer',
    status: 500,
    body: { error: { message: `failure ${count} at ${Date.now()}` } },
  }));
  await stage.addNode('unwatched', {
    spec: { manualModels: ['x'], sync: { discovery: 'Never' }, healthCheck: { mode: 'None' } },
  });
  await resources.create('UpstreamNode', home, 'without-secret', {
    baseURL: well.url,
    apiKeySecretRef: { name: 'missing' },
    healthCheck,
  });
  await resources.create('APIKey', home, 'issued', { secretName: 'issued-key' });
  await resources.create('APIKey', home, 'hopeless', { secretName: 'issued-key' });
  await resources.addKey(home, 'brought', { models: ['well-model', 'no-such-model'] });
  await resources.addKey(home, 'expired', { expirationTime: '2020-01-01T00:00:00Z' });

  const phases: Record<string, string> = {
    well: 'ready',
    away: 'offline',
    refusing: 'error',
    failing: 'error',
    slow: 'offline',
    unsteady: 'error',
    unwatched: 'idle',
    'without-secret': 'error',
  };
  for (const [name, phase] of Object.entries(phases)) {
    await stage.until(`${name} is ${phase}`, 'UpstreamNode', name, (node) => node.status?.phase === phase, {
      timeoutMs: 60_000,
    });
  }
  const isJudged = (key: Stored) => (key.status?.conditions ?? []).length > 0;
  for (const name of ['issued', 'hopeless', 'brought', 'expired']) {
    await stage.until(`${name} is judged`, 'APIKey', name, isJudged);
  }
  await leaveConditions('well');
  const isCleared = (node: Stored) => !condition(node, 'Stalled')?.startsWith('True');
  const cleared = await stage.until('Stalled is cleared', 'UpstreamNode', 'well', isCleared);
  expect(condition(cleared, 'example.com/Audited')).toBe('True Left');
  // The last Events are on their way.
  await new Promise((resolve) => setTimeout(resolve, 2_000));

  const [controller] = stage.controllers;
  const [gateway] = stage.gateways;
  const [before, requestsBefore] = [await versions(), await writeRequests(controller)];
  // It has created its report, which it replaces from then on.
  const gatewayBefore = await writeRequests(gateway);
  expect(Object.keys(before).length).toBeGreaterThan(15);
  const checksBefore = [well, refusing, failing, unsteady].map(({ requests }) => requests.length);
  await new Promise((resolve) => setTimeout(resolve, windowMs));
  expect(await versions()).toEqual(before);
  expect(await writeRequests(controller)).toEqual(requestsBefore);
  expect(await writeRequests(gateway)).toEqual(gatewayBefore);
  const checks = [well, refusing, failing, unsteady].map(
    ({ requests }, index) => requests.length - (checksBefore[index] ?? 0),
  );
  console.log(`measured: ${checks.join(', ')} checks in ${windowMs / 1_000} s, 0 writes`);
  for (const count of checks) expect(count).toBeGreaterThanOrEqual(3);

  const node = await resources.get('UpstreamNode', home, 'well');
  expect(node.metadata.generation).toBe(1);
  expect(node.status?.['observedGeneration']).toBe(1);
});
