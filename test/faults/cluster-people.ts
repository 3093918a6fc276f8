import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { callerOf } from '../support/caller.ts';
import { definitionsPath, deleteDefinitions } from '../support/definitions.ts';
import { listed } from '../support/listed.ts';
import { resourcePathOf } from '../support/resources.ts';
import type { ClusterServed } from './cluster-served.ts';
import type { Fault } from './fault.ts';
import { olderVersion } from './older-version.ts';

/** What people do to a cluster as a whole; each with a control plane of its own. */
export const clusterPeopleFaults: readonly Fault[] = [
  {
    id: 'people-restore-etcd',
    group: 'people',
    section: 'Static stability',
    promise:
      'an old backup of etcd restored under running processes: all follow what it holds, so that keys deleted since open again until they are deleted anew, and later ones do not; no caller notices',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.ownCluster();
      const { plane, stage } = served;
      const { resources, home } = stage;
      const answers = (key: string, status: number) => async () => (await statusOf(served, key)) === status;
      const deleted = await resources.addKey(home, 'deleted');
      const disabled = await resources.addKey(home, 'stopped');
      await scene.recovers('keys of the backup open', answers(disabled, 200));
      const backup = join(plane.folder, 'backup');
      await plane.backUp(backup);
      await scene.recovers('controller and gateway follow after the backup', () => served.follows());
      await resources.remove('APIKey', home, 'deleted');
      await resources.patch('APIKey', home, 'stopped', { spec: { enabled: false } });
      const later = await resources.addKey(home, 'later');
      await scene.recovers('a later key opens', answers(later, 200));
      await scene.recovers('a deleted one does not', answers(deleted, 401));
      await scene.recovers('nor a disabled one', answers(disabled, 401));
      // Versions that a watch which goes on from the old ones would have to wait for.
      for (let version = 0; version < 100; version += 1) {
        await resources.patch('APIKey', home, 'later', { metadata: { labels: { version: `${version}` } } });
      }

      await plane.restore(backup);
      await scene.recovers('a later key is refused', answers(later, 401), 60_000);
      await scene.recovers('what was deleted is back', answers(deleted, 200), 60_000);
      await scene.recovers('what was disabled is back', answers(disabled, 200), 60_000);
      await scene.recovers('controller and gateway follow', () => served.follows(), 60_000);
      await resources.remove('APIKey', home, 'deleted');
      await resources.patch('APIKey', home, 'stopped', { spec: { enabled: false } });
      await scene.recovers('deleted anew, it is refused', answers(deleted, 401));
      await scene.recovers('disabled anew, it is refused', answers(disabled, 401));
      scene.saw(
        'keys are those of the backup: the later one 401, deleted and disabled ones open until revoked anew',
      );
    },
  },
  {
    id: 'people-delete-definitions',
    group: 'people',
    section: 'Resources',
    promise:
      'the definitions deleted by mistake: their objects are gone, so no key opens; applied again with their objects, all is as before without a restart',
    harm: 'while down',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.ownCluster();
      const { client } = served.stage.cluster;
      const { home } = served.stage;
      const kinds = ['UpstreamNode', 'APIKey', 'MasterKey'] as const;
      const objects = await Promise.all(kinds.map((kind) => listed(client, resourcePathOf(kind, home))));
      const definitions = await deleteDefinitions(client);
      await scene.recovers('no key opens', async () => (await statusOf(served, served.key)) === 401, 60_000);
      await scene.recovers('they are gone', definitions.areGone, 60_000);
      await definitions.putBack();
      for (const [index, kind] of kinds.entries()) {
        for (const { metadata, spec } of objects[index] ?? []) {
          await served.stage.resources.create(kind, home, metadata.name, spec);
        }
      }
      const opens = async () => (await statusOf(served, served.key)) === 200;
      await scene.recovers('the key opens again', opens, 120_000);
      await scene.recovers('controller and gateway follow', () => served.follows(), 120_000);
      scene.saw('401 while they are gone; the same keys open once they are back');
    },
  },
  {
    id: 'people-downgrade',
    group: 'people',
    section: 'Resources',
    promise:
      'back to a version older than the definitions and objects: fields it does not know change nothing and are kept, what it cannot read stays as it was or closed, and disabling bites all the same',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.ownCluster();
      const { resources, home, cluster } = served.stage;
      const opens = (key: string, status: number) => async () => (await statusOf(served, key)) === status;
      // The definitions of a later version: this one is the older that finds itself among them.
      for (const name of ['apikeys', 'upstreamnodes']) {
        const path = `${definitionsPath}/${name}.modelgateway.dev`;
        const now = JSON.stringify(await cluster.client.ask('GET', path));
        const later = now
          .replaceAll('["Lossy","Strict"]', '["Lossy","Strict","Tomorrow"]')
          .replace('"displayName":{', '"tomorrow":{"type":"string"},"displayName":{');
        scene.must(`the definition of ${name} was changed`, later !== now);
        await cluster.client.ask('PUT', path, { body: JSON.parse(later) });
      }
      const tomorrow = { tomorrow: 'kept' };
      const known = await resources.addKey(home, 'known');
      const stopped = await resources.addKey(home, 'stopped-tomorrow');
      for (const key of [known, stopped]) await scene.recovers('it opens', opens(key, 200));
      const kept = async () =>
        (await resources.patch('UpstreamNode', home, 'honest', { spec: tomorrow })).spec;
      await scene.recovers(
        'the new field is served',
        async () => (await kept())['tomorrow'] === 'kept',
        60_000,
      );
      const extra = await resources.addKey(home, 'extra', tomorrow);
      await scene.recovers('a key with a field of tomorrow opens', opens(extra, 200));
      const unread = await resources.addKey(home, 'unread', { conversion: 'Tomorrow' });
      await resources.patch('APIKey', home, 'known', { spec: { conversion: 'Tomorrow' } });
      await resources.patch('APIKey', home, 'stopped-tomorrow', {
        spec: { conversion: 'Tomorrow', enabled: false },
      });
      await scene.recovers('one disabled with it is refused', opens(stopped, 401));
      scene.same('one that was known before stays as it was', await statusOf(served, known), 200);
      scene.same('one that cannot be read is closed', await statusOf(served, unread), 401);
      const late = await served.stage.start('gateway');
      await late.whenReady(60_000);
      const asked = [served.key, extra, known, stopped, unread].map(
        async (key) => (await callerOf(late.baseURL(), key).send('GET', '/models')).status,
      );
      scene.same('at a gateway started only now', await Promise.all(asked), [200, 200, 401, 401, 401]);
      await late.stop();
      const request = { metadata: { annotations: { 'modelgateway.dev/sync-requested-at': 'tomorrow' } } };
      await resources.patch('UpstreamNode', home, 'honest', request);
      await served.stage.until(
        'the controller works on it',
        'UpstreamNode',
        'honest',
        ({ status }) => status?.['lastHandledSyncRequest'] === 'tomorrow',
      );
      const [node, key] = [
        await resources.get('UpstreamNode', home, 'honest'),
        await resources.get('APIKey', home, 'extra'),
      ];
      scene.same('fields of tomorrow', [node.spec['tomorrow'], key.spec['tomorrow']], ['kept', 'kept']);
      await resources.patch('APIKey', home, 'unread', { spec: { conversion: 'Strict' } });
      await scene.recovers('mended, it opens', opens(unread, 200));
      scene.saw('fields kept; unreadable: as before where it was known, else 401; disabled: 401');
    },
  },
  {
    id: 'people-two-versions',
    group: 'people',
    section: 'Modes',
    promise:
      'two versions side by side, in an upgrade and back: one controller leads, neither undoes what the other wrote, keys open at both gateways alike, and no caller notices',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.ownCluster();
      const { stage } = served;
      const { resources, home } = stage;
      const older = await olderVersion();
      scene.onEnd(() => older[Symbol.asyncDispose]());
      await resources.patch('UpstreamNode', home, 'honest', { spec: { displayName: 'Named' } });
      const [newer] = stage.controllers;
      const { program } = older;
      const olderGateway = await stage.start('gateway', { program });
      await olderGateway.whenReady(60_000);
      const olderController = await stage.start('controller', { program });
      await olderController.whenReady(60_000);
      const agree = async (key: string, status: number) =>
        scene.recovers(
          `both gateways answer ${status}`,
          async () =>
            (await statusOf(served, key)) === status &&
            (await callerOf(olderGateway.baseURL(), key).send('GET', '/models')).status === status,
        );
      const key = await resources.addKey(home, 'both');
      await agree(key, 200);
      await resources.patch('APIKey', home, 'both', { spec: { enabled: false } });
      await agree(key, 401);
      const steady = async (who: string) => {
        await scene.recovers(
          `controller and gateway follow with ${who} leading`,
          () => served.follows(),
          90_000,
        );
        const version = async () =>
          (await resources.get('UpstreamNode', home, 'honest')).metadata.resourceVersion;
        const before = await version();
        await delay(3_000);
        scene.same(`writes in 3 s with ${who} leading`, (await version()) === before, true);
      };
      await steady('the newer one');
      await newer?.stop();
      await steady('the older one');
      const again = await stage.start('controller');
      await again.whenReady(60_000);
      await olderController.stop();
      await steady('the newer one again');
      const { spec } = await resources.get('UpstreamNode', home, 'honest');
      scene.same('what the older one does not know', spec['displayName'], 'Named');
      await olderGateway.stop();
      scene.saw('each led in turn; no write undone; both gateways opened and refused alike');
    },
  },
];

async function statusOf(served: ClusterServed, key: string): Promise<number> {
  return (await served.ask({ key, path: '/models' })).status;
}
