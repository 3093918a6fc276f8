import { join } from 'node:path';
import type { ClusterServed } from './cluster-served.ts';
import type { Fault } from './fault.ts';

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
];

async function statusOf(served: ClusterServed, key: string): Promise<number> {
  return (await served.ask({ key, path: '/models' })).status;
}
