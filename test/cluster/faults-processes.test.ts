import { afterEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { measured } from '../support/measured.ts';
import type { RoleProcess } from '../support/processes.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { steadyLoad } from '../support/steady-load.ts';

// Processes of the product freeze or are killed. More faults are in faults-clocks and faults-churn.
let stage: Stage;
afterEach(() => stage?.[Symbol.asyncDispose]());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const leads = (controller: RoleProcess | undefined) =>
  controller?.log().some(({ msg }) => msg === 'Started leading') ?? false;

test('a leader that froze in the middle of its work writes nothing when it is back', async () => {
  stage = await startStage({ namespaces: ['frozen'], roles: ['controller'] });
  const second = await stage.start('controller');
  await second.whenReady();
  const [first] = stage.controllers;
  await eventually('the first leads', () => leads(first), 20_000);
  const { resources, home } = stage;
  const upstream = await stage.upstream({ models: ['old'] });
  let asked: (() => void) | undefined;
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  // The first leader gets an older list when it continues.
  upstream.respondWith('/models', {
    kind: 'run',
    async run({ response }) {
      asked?.();
      await pause(1_000);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'old', object: 'model' }] }));
    },
  });
  await resources.create('UpstreamNode', home, 'node', { baseURL: upstream.url });
  await isAsked;
  first?.signal('SIGSTOP');
  const frozen = performance.now();
  // A key that the next leader must issue.
  await resources.create('APIKey', home, 'app', { secretName: 'app-key' });
  await pause(1_500);
  upstream.answers.models = ['new'];
  upstream.respondWith('/models', undefined);
  await eventually('the second leads', () => leads(second), 40_000);
  measured('leader frozen → the other leads', performance.now() - frozen, 40_000);
  const isNew = (node: { status?: { models?: { name: string }[] } }) =>
    node.status?.models?.[0]?.name === 'new';
  await stage.until('synced by the second', 'UpstreamNode', 'node', isNew);
  await eventually('a key is issued', async () => (await resources.secret(home, 'app-key')) !== undefined);
  const [node, secret] = [
    await resources.get('UpstreamNode', home, 'node'),
    await resources.secret(home, 'app-key'),
  ];

  first?.signal('SIGCONT');
  await eventually('it notices', () => first?.log().at(-1)?.msg === 'Lost the lease', 15_000);
  expect(await first?.stop('SIGCONT')).toBe(1);
  await pause(1_000);
  const after = await resources.get('UpstreamNode', home, 'node');
  expect(after.status?.models).toEqual(node.status?.models);
  expect(after.metadata.resourceVersion).toBe(node.metadata.resourceVersion);
  expect((await resources.secret(home, 'app-key'))?.metadata.resourceVersion).toBe(
    secret?.metadata.resourceVersion,
  );
  const path = `/apis/events.k8s.io/v1/namespaces/${home}/events`;
  const { items } = (await stage.cluster.client.ask('GET', path)) as { items: { reason: string }[] };
  expect(items.filter(({ reason }) => reason === 'KeyIssued')).toHaveLength(1);
});

test('a gateway that is killed under load takes down its own streams and nothing else', async () => {
  stage = await startStage({ namespaces: ['killed'], roles: ['controller', 'gateway', 'gateway'] });
  await stage.addNode('node', { upstream: { models: ['m'], chunks: 5, chunkDelayMilliseconds: 100 } });
  const key = await stage.resources.addKey(stage.home, 'caller');
  const [doomed, other] = [stage.caller(key, 0), stage.caller(key, 1)];
  for (const caller of [doomed, other]) {
    await eventually('the key opens', async () => (await caller.chat('m')).status === 200);
  }
  const loads = { doomed: steadyLoad(doomed, 'm', 20), other: steadyLoad(other, 'm', 20) };
  await pause(2_000);
  const address = stage.gateways[0]?.baseURL() ?? '';
  expect(await stage.gateways[0]?.stop('SIGKILL')).toBeNull();
  await pause(1_000);
  // In its place another one is ready, with all it needs, in a moment.
  const began = performance.now();
  const next = await stage.start('gateway', { flags: ['--listen', new URL(address).host] });
  await next.whenReady();
  await eventually('it serves', async () => (await doomed.chat('m')).status === 200);
  measured('gateway killed → another one serves at its address', performance.now() - began, 20_000);
  await pause(1_000);
  const [ofDoomed, ofOther] = [await loads.doomed.stop(), await loads.other.stop()];
  expect(ofDoomed.failures.length).toBeGreaterThan(0);
  expect(ofOther.failures).toEqual([]);
  expect(ofOther.sent).toBeGreaterThan(40);
});
