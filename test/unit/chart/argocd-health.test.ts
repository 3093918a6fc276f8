import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { declaredCrds } from '../../support/declared-crds.ts';
import { luaHealth } from '../../support/lua.ts';
import { endings, start, until } from '../controller/harness.ts';
import { memoryStore } from '../controller/memory-store.ts';
import { failed, listed, NodeLife, status } from '../controller/node-life.ts';
import { apiKeyOf, masterKeyOf, secretOf } from '../controller/resources.ts';

// Argo CD's health check, on statuses that the controller writes.
const file = new URL('../../../examples/gitops/argocd/argocd-cm.yaml', import.meta.url);
const { data } = parse(readFileSync(file, 'utf8')) as { data: Record<string, string> };
const script = data['resource.customizations.health.modelgateway.dev_UpstreamNode'] ?? '';
const ends = endings();
afterEach(ends.endAll);

test('every kind that people declare has the same check', () => {
  const keys = declaredCrds().map(
    ({ spec }) => `resource.customizations.health.modelgateway.dev_${spec.names.kind}`,
  );
  expect(Object.keys(data).sort()).toEqual(keys.sort());
  expect(new Set(Object.values(data)).size).toBe(1);
});

describe('nodes', () => {
  const life = (...answers: Parameters<NodeLife['answer']>[0][]) => {
    const node = new NodeLife();
    node.plan();
    for (const answer of answers) node.answer(answer);
    return node;
  };
  const refused = failed('connect_refused');

  test.each<[what: string, phase: string, health: string, node: () => NodeLife]>([
    ['planned, and not contacted', 'idle', 'Progressing', () => life()],
    ['good', 'ready', 'Healthy', () => life(listed('m'))],
    ['no models', 'idle', 'Degraded', () => life(listed())],
    ['401', 'error', 'Degraded', () => life(status(401))],
    ['500', 'error', 'Progressing', () => life(status(500))],
    ['500 after it was good', 'error', 'Healthy', () => life(listed('m'), status(500))],
    ['unreachable for long', 'offline', 'Healthy', () => life(listed('m'), refused, refused, refused)],
    ['unreachable from the start', 'offline', 'Progressing', () => life(refused, refused, refused)],
    ['another key, which is wrong', 'error', 'Degraded', () => life(listed('m'), status(403))],
    ['a wrong key, then an outage', 'error', 'Degraded', () => life(listed('m'), status(401), refused)],
    ['back again', 'ready', 'Healthy', () => life(refused, refused, refused, listed('m'))],
  ])('%s: %s is %s', (_, phase, health, make) => {
    const { node } = make();
    expect(node.status?.phase).toBe(phase);
    const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
    expect(luaHealth(script, node)).toEqual({ status: health, message: ready?.message });
  });

  test('a node that the controller has not seen, in this generation or at all', () => {
    const { node } = life(listed('m'));
    const waiting = { status: 'Progressing', message: 'Waiting for the controller' };
    expect(luaHealth(script, { ...node, metadata: { ...node.metadata, generation: 2 } })).toEqual(waiting);
    expect(luaHealth(script, { ...node, status: { observedGeneration: -1 } })).toEqual(waiting);
    expect(luaHealth(script, { ...node, status: undefined })).toEqual(waiting);
  });
});

test('keys', async () => {
  const memory = memoryStore();
  const meta = { generation: 1 };
  memory.secrets.set('home/foreign', secretOf('foreign', { apiKey: 'x' }));
  memory.apply(apiKeyOf('issued', { secretName: 's' }, meta));
  memory.apply(apiKeyOf('conflict', { secretName: 'foreign' }, meta));
  memory.apply(apiKeyOf('expired', { secretName: 't', expirationTime: '2020-01-01T00:00:00Z' }, meta));
  memory.apply(masterKeyOf('master', { secretName: 'm' }, meta));
  start(ends, memory);
  const health = (kind: 'APIKey' | 'MasterKey', name: string) =>
    luaHealth(script, memory.store.get(kind, 'home', name)).status;
  const all = () => [
    health('APIKey', 'issued'),
    health('APIKey', 'conflict'),
    health('APIKey', 'expired'),
    health('MasterKey', 'master'),
  ];
  await until(() => !all().includes('Progressing'), 'all are judged');
  expect(all()).toEqual(['Healthy', 'Degraded', 'Degraded', 'Healthy']);
});
