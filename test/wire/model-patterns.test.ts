import { expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { keyWithHash, manifest, startStandalone } from '../support/standalone.ts';
import { startUpstream } from '../support/upstream.ts';

test('patterns by the command: models go at once and for callers, and come back as newModels says then', async () => {
  const upstream = await startUpstream({ models: ['kept', 'one:free', 'two:free'] });
  const caller = keyWithHash();
  await using standalone = await startStandalone({
    manifests: {
      'node.yaml': manifest('UpstreamNode', 'n', { baseURL: upstream.url, healthCheck: { mode: 'None' } }),
      'key.yaml': manifest('APIKey', 'k', { hash: caller.hash }),
    },
  });
  const statusOf = async (model: string): Promise<number> =>
    (await standalone.caller(caller.text).chat(model)).status;
  const serves = (model: string, isServed: boolean): Promise<unknown> =>
    eventually(
      `${model} is ${isServed ? '' : 'not '}served`,
      async () => ((await statusOf(model)) === 200) === isServed,
    );
  const place = ['--manifests', standalone.folders.manifests, '--data', standalone.folders.data];
  const edit = (...flags: readonly string[]) => runCli(['node', 'edit', 'n', ...flags, ...place]);
  await serves('one:free', true);

  const left = await edit('--new-models', 'disabled');
  expect(left.code).toBe(0);
  expect(left.stderr).toContain('Known models stay as they are (3 of 3 enabled)');
  await serves('one:free', true);

  const listings = upstream.requestsTo('/models').length;
  expect((await edit('--exclude-models', '*:free')).code).toBe(0);
  await serves('one:free', false);
  await serves('kept', true);
  expect(upstream.requestsTo('/models')).toHaveLength(listings);

  // Let in again, they count as newly discovered and start disabled; with newModels enabled they start enabled.
  expect((await edit('--exclude-models', '')).code).toBe(0);
  await eventually('asked again', () => upstream.requestsTo('/models').length > listings);
  await serves('one:free', false);
  expect((await edit('--new-models', 'enabled', '--exclude-models', '*')).code).toBe(0);
  await serves('kept', false);
  expect((await edit('--exclude-models', '')).code).toBe(0);
  for (const model of ['kept', 'one:free', 'two:free']) await serves(model, true);
  await upstream.stop();
}, 120_000);
