import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { long } from '../support/long.ts';
import { measured } from '../support/measured.ts';
import type { RoleProcess } from '../support/processes.ts';
import { condition } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
afterEach(() => stage?.[Symbol.asyncDispose]());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const leads = (controller: RoleProcess | undefined) =>
  controller?.log().some(({ msg }) => msg === 'Started leading') ?? false;

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
  await stage.until(
    'ready',
    'UpstreamNode',
    'node',
    (node) => condition(node, 'Ready') === 'True Configured',
  );
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
