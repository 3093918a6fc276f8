import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { manifest, type Standalone, startStandalone } from '../support/standalone.ts';

const node = (spec: Readonly<Record<string, unknown>> = {}) =>
  manifest('UpstreamNode', 'demo', { baseURL: 'http://127.0.0.1:9/v1', manualModels: ['m'], ...spec });
let standalone: Standalone;

beforeAll(async () => {
  standalone = await startStandalone({ manifests: { 'demo.yaml': node({ displayNme: 'Demo' }) } });
});
afterAll(() => standalone[Symbol.asyncDispose]());

const text = async (path: string) => (await fetch(`${standalone.admin}${path}`)).text();
const metric = async () =>
  /manifests_not_in_force\{scope="document".*\} (\d+)/.exec(await text('/metrics'))?.[1];

test('a manifest that is not in force shows in /metrics and /readyz?verbose until it is corrected', async () => {
  expect(await metric()).toBe('1');
  const ready = await fetch(`${standalone.admin}/readyz?verbose`);
  expect(ready.status).toBe(200);
  expect(await ready.text()).toMatch(
    /^ok\nnot in force since \S+Z: demo\.yaml:\d+ \(document 1\): UpstreamNode\/default\/demo spec\.displayNme is not a field; did you mean displayName\?\n$/,
  );
  expect(await text('/readyz')).toBe('ok\n');
  await standalone.folders.write('demo.yaml', node());
  await eventually('the metric falls', async () => (await metric()) === '0', 5000, 20);
  expect(await text('/readyz?verbose')).toBe('ok\n');
  const lines = standalone.log().map(({ msg, object, action }) => [msg, object, action]);
  expect(lines).toContainEqual(['Applied a manifest', 'UpstreamNode/default/demo', 'created']);
  expect(lines.some(([msg]) => msg === 'A manifest file is valid again')).toBe(true);
});
