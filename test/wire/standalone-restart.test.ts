import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { keptSecret } from '../support/kept-secret.ts';
import {
  type Folders,
  keyWithHash,
  manifest,
  manifests,
  newFolders,
  startStandalone,
} from '../support/standalone.ts';
import { startUpstream } from '../support/upstream.ts';

// What callers notice if a process starts with damaged manifests, or with only part of its data.
const key = keyWithHash();

const generatedKey = (folders: Folders): string => keptSecret(folders.data, 'generated')?.['apiKey'] ?? '';

test('callers notice neither a bad field, nor a file that is not YAML, nor the loss of all statuses', async () => {
  const upstream = await startUpstream({ models: ['m'] });
  const node = manifest('UpstreamNode', 'n', { baseURL: upstream.url, manualModels: ['m'] });
  const generated = (spec = {}) => manifest('APIKey', 'generated', { secretName: 'generated', ...spec });
  const byHash = (spec = {}) => manifest('APIKey', 'by-hash', { hash: key.hash, ...spec });
  await using folders = await newFolders({
    'node.yaml': node,
    'keys.yaml': manifests(generated(), byHash()),
  });
  let text = '';
  /** Starts on the folder as it is now, and calls with both keys. */
  const round = async (what: string) => {
    await using standalone = await startStandalone({ folders });
    if (text === '') {
      await eventually('the key is generated', () => generatedKey(folders) !== '');
      text = generatedKey(folders);
    }
    const status = async (caller: string) => (await standalone.caller(caller).chat('m')).status;
    expect(await status(key.text), what).toBe(200);
    // Without its status the key is known again once the controller has read its Secret.
    await eventually(`${what}: the generated key`, async () => (await status(text)) === 200, 5_000);
    expect(await standalone.stop()).toBe(0);
    expect(generatedKey(folders), what).toBe(text);
  };
  await round('first start');
  await folders.write('keys.yaml', manifests(generated({ enabled: 'yes' }), byHash({ models: [] })));
  await folders.write('node.yaml', node.replace(upstream.url, 'nonsense'));
  await round('bad fields');
  await folders.write('keys.yaml', 'a: [');
  await round('not YAML');
  await folders.write('keys.yaml', manifests(generated(), byHash()));
  await folders.write('node.yaml', node);
  const database = new DatabaseSync(join(folders.data, 'state.sqlite'));
  database.exec("UPDATE record SET value = json_remove(value, '$.status')");
  database.close();
  await round('no statuses');
  await upstream.stop();
});
