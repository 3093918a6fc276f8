import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { keptSecret } from '../support/kept-secret.ts';
import { manifest } from '../support/standalone.ts';
import type { Fault } from './fault.ts';
import { madeKey, makeKey, opening } from './made-keys.ts';

export const peopleFaults: readonly Fault[] = [
  {
    id: 'people-restore-data',
    group: 'people',
    section: 'Standalone mode',
    promise:
      'an old copy of the data folder put in place of the present one: the keys of then open, later ones do not, and all works',
    harm: 'while down',
    async run(scene) {
      const served = await scene.own();
      const { data, root } = served.folders;
      const old = await madeKey(served);
      await served.process.stop('SIGTERM');
      await cp(data, join(root, 'backup'), { recursive: true });
      await served.restart();
      const later = await madeKey(served);
      await served.process.stop('SIGKILL');
      await rm(data, { recursive: true });
      await cp(join(root, 'backup'), data, { recursive: true });
      await scene.recovers('the next process serves', async () => {
        await served.restart();
        return true;
      });
      scene.same('old keys that open', await opening(served, [old]), 1);
      scene.same('later keys that open', await opening(served, [later]), 0);
      scene.must('keys are made again', (await makeKey(served)) !== undefined);
      scene.saw('the old key opens, the later one gets 401, a new one is made');
    },
  },
  {
    id: 'people-delete-data',
    group: 'people',
    section: 'Standalone mode',
    promise:
      'a data folder deleted under a running process harms no caller; after a restart what manifests declare is served, nothing else',
    harm: 'while down',
    async run(scene) {
      const served = await scene.own();
      const made = await madeKey(served);
      const mark = served.honest.mark();
      // The gateway writes into it meanwhile, which ends one pass over the folder with ENOTEMPTY.
      await rm(served.folders.data, { recursive: true, maxRetries: 5 });
      await delay(500);
      const { status } = await served.ask({ key: served.master, path: '/keys', body: {} });
      scene.same('honest requests that failed meanwhile', (await served.honest.since(mark)).failed, []);
      await served.process.stop('SIGKILL');
      await scene.recovers('the next process serves', async () => {
        await served.restart();
        return true;
      });
      scene.same('keys that only the folder knew', await opening(served, [made]), 0);
      scene.must('keys are made again', (await makeKey(served)) !== undefined);
      scene.saw(`POST /v1/keys meanwhile ${status}; the key that only the folder knew is gone`);
    },
  },
  {
    id: 'people-delete-key-secret',
    group: 'people',
    section: 'API keys',
    promise:
      'deleting a generated key’s Secret revokes that key at once and issues another; nobody else notices',
    async run(scene) {
      const served = await scene.own();
      await served.folders.write(
        'generated.yaml',
        manifest('APIKey', 'generated', { secretName: 'generated' }),
      );
      const { data } = served.folders;
      const read = (): string => keptSecret(data, 'generated')?.['apiKey'] ?? '';
      let first = '';
      await scene.recovers('a key is issued', async () => {
        first = read();
        return first !== '' && (await opening(served, [first])) === 1;
      });
      change(data, "DELETE FROM secret WHERE id = 'default/generated'");
      let second = '';
      await scene.recovers('another key is issued, and the first refused', async () => {
        second = read();
        return second !== '' && second !== first && (await opening(served, [first, second])) === 1;
      });
      scene.same('the second opens', await opening(served, [second]), 1);
      scene.saw('the first key 401, another one issued');
    },
  },
  {
    id: 'people-spoilt-records',
    group: 'people',
    section: 'Standalone mode',
    promise: 'rows of the state file that somebody damaged are logged and left out; all others are in force',
    harm: 'while down',
    async run(scene) {
      const served = await scene.own();
      const keys = [await madeKey(served), await madeKey(served)];
      await served.process.stop('SIGTERM');
      change(
        served.folders.data,
        "UPDATE made_key SET value = '{\"half' WHERE id = (SELECT min(id) FROM made_key)",
      );
      await scene.recovers('the next process serves', async () => {
        await served.restart();
        return true;
      });
      scene.same('keys that open', await opening(served, keys), 1);
      scene.must('it is logged', served.process.complaints().length > 0);
      scene.saw(`${served.process.complaints()[0]?.msg}; the other key opens`);
    },
  },
];

/** Changes the state file as a person with an SQLite program does. */
function change(data: string, sql: string): void {
  const database = new DatabaseSync(join(data, 'state.sqlite'), { timeout: 2_000 });
  database.exec(sql);
  database.close();
}
