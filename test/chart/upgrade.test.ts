import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openStreams } from '../support/open-streams.ts';
import { previousChart } from '../support/previous-chart.ts';
import { type ReleaseStage, startReleaseStage } from '../support/release.ts';
import { steadyLoad } from '../support/steady-load.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

// From the chart before this one, whose UpstreamNode lacks a field, to this one, under load.
const home = 'models';
const field = 'displayName';
const streams = 200;
const values = { apiKeys: [{ name: 'first', secretName: 'first-key' }] };
let stage: ReleaseStage;
let quick: ScriptedUpstream;
let slow: ScriptedUpstream;

beforeAll(async () => {
  stage = await startReleaseStage();
  quick = await startUpstream({ models: ['quick'], chunks: 5, chunkDelayMilliseconds: 50 });
  // Longer than the upgrade takes.
  slow = await startUpstream({ models: ['slow'], chunks: 25, chunkDelayMilliseconds: 1_000 });
});
afterAll(async () => {
  await Promise.all([quick, slow].map((upstream) => upstream?.stop()));
  await stage?.[Symbol.asyncDispose]();
});

const keyText = async () => (await stage.resources.secret(home, 'first-key'))?.text['apiKey'] ?? '';
const declare = (spec: object) =>
  stage.cluster.apply(
    JSON.stringify({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'UpstreamNode',
      metadata: { name: 'named' },
      spec: { baseURL: quick.url, ...spec },
    }),
    home,
  );

test(`helm upgrade brings new fields, keeps what is there, and breaks none of ${streams} open streams`, async () => {
  await using previous = await previousChart(field);
  const installed = await stage.release('install', { values, chart: previous.folder });
  expect(installed.code, installed.stderr).toBe(0);
  expect(await declare({ [field]: 'Named' })).toMatchObject({
    applied: false,
    message: expect.stringContaining(field),
  });
  for (const [name, upstream] of Object.entries({ quick, slow })) {
    await stage.resources.create('UpstreamNode', home, name, { baseURL: upstream.url });
  }
  await eventually('the first key is issued', async () => (await keyText()) !== '');
  const key = await keyText();
  const caller = stage.caller(key);
  for (const model of ['quick', 'slow']) {
    await eventually(`${model} is served`, async () => (await caller.models()).includes(model));
  }
  const before = [...stage.pods('gateway'), ...stage.pods('controller')];
  const exits = before.map((pod) => pod.process()?.exited);

  const load = steadyLoad(caller, 'quick', 20);
  const open = openStreams(caller.baseURL, key, 'slow', streams);
  await eventually('all streams flow', () => open.flowing() === streams, 30_000);
  const began = performance.now();
  const upgraded = await stage.release('upgrade', { values });
  const tookMs = Math.round(performance.now() - began);
  expect(upgraded.code, upgraded.stderr).toBe(0);
  const after = stage.pods('gateway').filter((pod) => !before.includes(pod));
  expect(after).toHaveLength(2);

  expect(await declare({ [field]: 'Named' })).toMatchObject({ applied: true });
  expect(await keyText()).toBe(key);
  const broken = await open.ended();
  const { sent, failures } = await load.stop();
  console.log(
    `measured: helm upgrade under load: ${tookMs} ms; ${broken.length} of ${streams} open streams broken; ` +
      `${failures.length} of ${sent} requests failed`,
  );
  expect(broken).toEqual([]);
  expect(failures).toEqual([]);

  // The old pods went by themselves, as soon as their last stream had ended.
  expect(await Promise.all(exits)).toEqual([0, 0, 0, 0]);
  for (const pod of before) expect(pod.lines().join('\n')).toContain('"msg":"Stopped"');
  expect((await stage.caller(key, after[0]).chat('quick')).status).toBe(200);
  const { stdout } = await stage.cluster.kubectl(['get', 'upstreamnodes', '-n', home, '-o', 'name']);
  expect(stdout.trim().split('\n')).toHaveLength(3);
});
