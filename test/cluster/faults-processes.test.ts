import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { long } from '../support/long.ts';
import { measured } from '../support/measured.ts';
import type { RoleProcess } from '../support/processes.ts';
import { condition, resourcePathOf } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { steadyLoad } from '../support/steady-load.ts';

// Processes of the product die, freeze, have wrong clocks, or get too much to do.
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
  // What the first leader hears once it is back: an older list.
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
  // A key, too, that waits for whoever leads.
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

test('wrong clocks change nothing but what is said about time', async () => {
  stage = await startStage({ namespaces: ['skewed'], roles: ['gateway'] });
  const { resources, home } = stage;
  const skewed = (seconds: number) => ({
    env: {
      NODE_OPTIONS: `--import=${fileURLToPath(new URL('../support/clock-skew.ts', import.meta.url))}`,
      TEST_CLOCK_SKEW_SECONDS: String(seconds),
    },
  });
  const hour = 3_600;
  const ahead = await stage.start('controller', skewed(hour));
  await ahead.whenReady();
  const behind = await stage.start('controller', skewed(-hour));
  await behind.whenReady();
  const fast = await stage.start('gateway', skewed(hour));
  await fast.whenReady();
  expect(Date.parse(String(ahead.log()[0]?.['time'])) - Date.now()).toBeGreaterThan((hour - 60) * 1_000);

  await stage.addNode('node', { upstream: { models: ['m'] } });
  await stage.until('ready', 'UpstreamNode', 'node', (node) => condition(node, 'Ready') === 'True Healthy');
  await resources.create('APIKey', home, 'app', { secretName: 'app-key' });
  await eventually('a key is issued', async () => (await resources.secret(home, 'app-key')) !== undefined);
  const key = (await resources.secret(home, 'app-key'))?.text['apiKey'] ?? '';
  const expirationTime = new Date(Date.now() + (hour / 2) * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const expiring = await resources.addKey(home, 'expiring', { expirationTime });
  for (const gateway of [0, 1]) {
    await eventually('it serves', async () => (await stage.caller(key, gateway).chat('m')).status === 200);
  }
  // Each judges by its own clock.
  await eventually('the right clock', async () => (await stage.caller(expiring, 0).chat('m')).status === 200);
  expect((await stage.caller(expiring, 1).chat('m')).text).toContain('expired');

  // The lease is judged by how long nothing was seen of its holder, never by the times in it.
  await pause(long ? 60_000 : 6_000);
  expect([leads(ahead), leads(behind)]).toEqual([true, false]);
  const began = performance.now();
  await ahead.stop('SIGKILL');
  await eventually('the other leads', () => leads(behind), 40_000);
  measured('leader killed, an hour between the clocks → the other leads', performance.now() - began, 40_000);
  await resources.patch('UpstreamNode', home, 'node', {
    metadata: { annotations: { 'modelgateway.dev/sync-requested-at': 'now' } },
  });
  await stage.until(
    'synced on request',
    'UpstreamNode',
    'node',
    (node) => node.status?.['lastHandledSyncRequest'] === 'now',
  );
});

const churned = long ? 5_000 : 500;
test(`${churned} keys made and deleted leave a gateway as quick and as small as before`, async () => {
  stage = await startStage({ namespaces: ['churn'], roles: [] });
  const probe = fileURLToPath(new URL('../support/heap-on-signal.ts', import.meta.url));
  for (const role of ['controller', 'gateway'] as const) {
    await (await stage.start(role, { env: { NODE_OPTIONS: `--import=${probe}` } })).whenReady();
  }
  const { resources, home } = stage;
  await stage.addNode('node', { upstream: { models: ['m'] } });
  const caller = stage.caller(await resources.addKey(home, 'caller'));
  await eventually('the key opens', async () => (await caller.chat('m')).status === 200);
  /** What is left after a garbage collection, in MiB. */
  const heap = async (process: RoleProcess): Promise<number> => {
    const reports = () => process.log().filter(({ msg }) => msg === 'Heap');
    const before = reports().length;
    process.signal('SIGUSR2');
    await eventually('it tells its heap', () => reports().length > before, 30_000);
    return Number(reports().at(-1)?.['bytes']) / 1024 ** 2;
  };
  const inTurns = async (work: (number: number) => Promise<unknown>): Promise<void> => {
    let next = 0;
    const worker = async () => {
      while (next < churned) await work(next++);
    };
    await Promise.all(Array.from({ length: 16 }, worker));
  };
  const texts = new Map<number, string>();
  const round = async (): Promise<void> => {
    await inTurns(async (number) => texts.set(number, await resources.addKey(home, `churn-${number}`)));
    const began = performance.now();
    await eventually('the last one opens', async () => {
      const answer = await stage.caller(texts.get(churned - 1) ?? '').send('GET', '/models');
      return answer.status === 200;
    });
    measured('the last of many keys → it opens', performance.now() - began, 5_000);
    await inTurns((number) => resources.remove('APIKey', home, `churn-${number}`));
    await eventually('the last one is refused', async () => {
      const answer = await stage.caller(texts.get(churned - 1) ?? '').send('GET', '/models');
      return answer.status === 401;
    });
  };
  const load = steadyLoad(caller, 'm', 10);
  await round();
  const processes = [...stage.gateways, ...stage.controllers];
  const before = await Promise.all(processes.map(heap));
  await round();
  const { sent, failures } = await load.stop();
  const after = await Promise.all(processes.map(heap));
  const grown = after.map((mib, index) => Math.round((mib - (before[index] ?? 0)) * 10) / 10);
  console.log(
    `measured: ${2 * churned} keys made and deleted: ${failures.length} of ${sent} requests failed; ` +
      `heaps after the first half: ${before.map(Math.round).join(', ')} MiB; more after the second: ${grown.join(', ')} MiB`,
  );
  expect(failures).toEqual([]);
  for (const mib of grown) expect(mib).toBeLessThan(10);
  const { items } = (await stage.cluster.client.ask('GET', resourcePathOf('APIKey', home))) as {
    items: unknown[];
  };
  expect(items).toHaveLength(1);
  expect((await stage.controllers[0]?.probe('/livez'))?.status).toBe(200);
}, 600_000);
