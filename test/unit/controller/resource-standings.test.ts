import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { observeResources } from '../../../src/controller/resource-standings.ts';
import { createLog } from '../../../src/observe/log.ts';
import { parseStored } from '../../../src/resources/parse.ts';
import { Content } from '../../../src/store/content.ts';
import type { Store } from '../../../src/store/store.ts';

const content = () =>
  new Content({
    log: createLog({ level: 'error', format: 'json', role: 'test', destination: process.stdout }),
    sealingNamespace: 'ns',
    openSealed: () => Promise.reject(new Error('none')),
  });

function node(name: string, ready: string, reason: string, phase: string, enabled = true) {
  const conditions = [
    { type: 'Ready', status: ready, reason, message: 'x', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ];
  const status = {
    phase,
    models: [],
    modelCount: 3,
    enabledModelCount: 2,
    lastSyncTime: '2026-01-01T00:00:00Z',
    conditions,
    observedGeneration: 1,
  };
  const parsed = parseStored({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { namespace: 'ns', name, uid: name },
    spec: { baseURL: 'http://x.example/v1', enabled },
    status,
  });
  if ('problems' in parsed || parsed.resource.kind === 'Secret') throw new Error(JSON.stringify(parsed));
  return parsed.resource;
}

test('the metrics of resources follow the store', async () => {
  const registry = new Registry();
  const store = content();
  store.set(node('early', 'True', 'ModelsSynced', 'ready'));
  observeResources(store as unknown as Store, registry);
  store.set(node('late', 'False', 'SecretNotFound', 'error', false));
  const lines = async () =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(await lines()).toEqual([
    'modelgateway_node_phase{node="ns/early",phase="ready",enabled="true"} 1',
    'modelgateway_node_phase{node="ns/late",phase="error",enabled="false"} 1',
    'modelgateway_node_models{node="ns/early"} 2',
    'modelgateway_node_models{node="ns/late"} 2',
    'modelgateway_node_last_sync_timestamp_seconds{node="ns/early"} 1767225600',
    'modelgateway_node_last_sync_timestamp_seconds{node="ns/late"} 1767225600',
    'modelgateway_resources{kind="UpstreamNode",ready="True",reason="ModelsSynced"} 1',
    'modelgateway_resources{kind="UpstreamNode",ready="False",reason="SecretNotFound"} 1',
  ]);
  store.set(node('late', 'True', 'ModelsSynced', 'ready'));
  store.remove('UpstreamNode', 'ns', 'early');
  store.set(node('odd', 'False', 'Invented', 'error'));
  expect((await lines()).filter((line) => line.includes('resources'))).toEqual([
    'modelgateway_resources{kind="UpstreamNode",ready="True",reason="ModelsSynced"} 1',
    'modelgateway_resources{kind="UpstreamNode",ready="False",reason="SecretNotFound"} 0',
    'modelgateway_resources{kind="UpstreamNode",ready="False",reason="other"} 1',
  ]);
});

test('keys that expire are shown while they are enabled, but not those that are meant to be short-lived', async () => {
  const registry = new Registry();
  const store = content();
  observeResources(store as unknown as Store, registry);
  const key = (name: string, expirationTime: string | undefined, enabled = true) => {
    const parsed = parseStored({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'APIKey',
      metadata: { namespace: 'ns', name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { secretName: name, enabled, ...(expirationTime === undefined ? {} : { expirationTime }) },
    });
    if ('problems' in parsed || parsed.resource.kind !== 'APIKey') throw new Error(JSON.stringify(parsed));
    store.set(parsed.resource);
  };
  const lines = async () =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('modelgateway_key_expiration'));
  key('long', '2026-02-01T00:00:00Z');
  key('short', '2026-01-08T00:00:00Z');
  key('never', undefined);
  key('off', '2026-02-01T00:00:00Z', false);
  const line = 'modelgateway_key_expiration_timestamp_seconds{kind="APIKey",key="ns/long"} 1769904000';
  expect(await lines()).toEqual([line]);
  store.remove('APIKey', 'ns', 'long');
  expect(await lines()).toEqual([]);
});
