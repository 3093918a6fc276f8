import { expect, test } from 'vitest';
import { keyWithHash, manifest, newFolders, startStandalone } from '../support/standalone.ts';

const master = keyWithHash('master');
const documents = {
  'node.yaml': manifest('UpstreamNode', 'n', { baseURL: 'http://127.0.0.1:9/v1', manualModels: ['m'] }),
  'keys.yaml': manifest('MasterKey', 'portal', { hash: master.hash }),
};

test('kill -9 at any moment loses no key that was answered', async () => {
  await using folders = await newFolders(documents);
  const answered: { value: string }[] = [];
  for (let round = 0; round < 10; round += 1) {
    const standalone = await startStandalone({ folders });
    expect(standalone.complaints().filter(({ level }) => level === 'error')).toEqual([]);
    for (const { value } of answered.slice(-20)) {
      expect((await standalone.caller(value).send('GET', '/models/m')).status).toBe(200);
    }
    const caller = standalone.caller(master.text);
    const killed = Promise.withResolvers<void>();
    const stop = () => {
      standalone.signal('SIGKILL');
      killed.resolve();
    };
    // Every second round right behind the first answer, with more on their way; else a little later.
    const tries = Array.from({ length: 8 }, () =>
      caller.send('POST', '/keys', {}).then(
        ({ status, text }) => {
          if (status !== 201) throw new Error(text);
          answered.push(JSON.parse(text) as { value: string });
          if (round % 2 === 0) stop();
          else setTimeout(stop, round);
        },
        () => 'cut off',
      ),
    );
    await killed.promise;
    await Promise.all(tries);
    await standalone.stop('SIGKILL');
  }
  expect(answered.length).toBeGreaterThanOrEqual(10);
  await using last = await startStandalone({ folders });
  const found = await Promise.all(answered.map(({ value }) => last.caller(value).send('GET', '/models/m')));
  expect(found.filter(({ status }) => status !== 200)).toEqual([]);
}, 180_000);
