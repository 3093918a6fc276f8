import { afterAll, beforeAll, expect, test } from 'vitest';
import { callerOf } from '../support/caller.ts';
import { eventually } from '../support/eventually.ts';
import { type ReleasedVersion, releasedVersion } from '../support/released-version.ts';
import type { ResourceKind, Stored } from '../support/resources.ts';
import { condition } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

// A build of an earlier minor version and today's serve the same objects, as in an upgrade and its way back. The CRDs are today's,
// because they are upgraded first (docs/versions.md).
const commit = '832562c';
const older: ReleasedVersion | undefined = await releasedVersion(commit);
let stage: Stage;
beforeAll(async () => {
  if (older !== undefined) stage = await startStage({ namespaces: ['skew'] });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await older?.[Symbol.asyncDispose]();
});

const objects: readonly [ResourceKind, string][] = [
  ['UpstreamNode', 'node'],
  ['APIKey', 'key'],
  ['APIKey', 'rotated'],
];

test.skipIf(older === undefined)(
  `an older version (${commit}; left out if the clone has no such commit) and today's serve the same objects`,
  async () => {
    const { resources, home } = stage;
    const program = older?.program ?? [];
    const upstream = await stage.upstream({ models: ['m'] });
    // Fields that the older one does not know.
    const card = { displayName: 'Model', contextTokens: 1_000 };
    const models = [{ name: 'm', priority: 60, card }];
    const sync = { suspend: false, models: { exclude: ['x*'] } };
    const spec = { baseURL: upstream.url, models, sync };
    await resources.create('UpstreamNode', home, 'node', spec);
    const rotation = { revision: 1, every: 90, overlapSeconds: 0 };
    await resources.create('APIKey', home, 'rotated', { secretName: 'rotated' });
    const isReady = (object: Stored) => condition(object, 'Ready')?.startsWith('True') === true;
    const before = await stage.until('issued', 'APIKey', 'rotated', isReady);
    await resources.patch('APIKey', home, 'rotated', { spec: { rotation } });
    await stage.until(
      'rotated',
      'APIKey',
      'rotated',
      ({ status }) => status?.['retiredHashes'] !== undefined,
    );
    const key = await resources.addKey(home, 'key');
    const [olderGateway, olderController] = [
      await stage.start('gateway', { program }),
      await stage.start('controller', { program }),
    ];
    await Promise.all([olderGateway, olderController].map((role) => role.whenReady(60_000)));
    const both = async (status: number): Promise<boolean> => {
      const answers = [stage.caller(key), callerOf(olderGateway.baseURL(), key)];
      return (await Promise.all(answers.map(async (caller) => (await caller.chat('m')).status))).every(
        (each) => each === status,
      );
    };
    await eventually('both open', () => both(200), 30_000);

    let asked = 0;
    const versions = async (): Promise<string[]> => {
      const now = await Promise.all(objects.map(([kind, name]) => resources.get(kind, home, name)));
      return now.map(({ metadata }) => metadata.resourceVersion);
    };
    /** The controller that leads now acts, and then nothing is written while nothing changes. */
    const isSteady = async (who: string): Promise<void> => {
      asked += 1;
      const annotations = { 'modelgateway.dev/sync-requested-at': `${asked}` };
      await resources.patch('UpstreamNode', home, 'node', { metadata: { annotations } });
      await stage.until(
        `${who} syncs`,
        'UpstreamNode',
        'node',
        ({ status }) => status?.['lastHandledSyncRequest'] === `${asked}`,
        { timeoutMs: 60_000 },
      );
      await resources.patch('APIKey', home, 'key', { spec: { enabled: false } });
      await eventually(`${who}: both refuse`, () => both(401));
      await resources.patch('APIKey', home, 'key', { spec: { enabled: true } });
      await eventually(`${who}: both open`, () => both(200));
      await stage.until(who, 'APIKey', 'key', (object) => condition(object, 'Ready') === 'True KeyAccepted');
      // The older one does not know this condition.
      if (who !== 'the older one') await stage.until(who, 'APIKey', 'key', isProven);
      const then = await versions();
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      expect(await versions(), `writes in 5 s while ${who} leads`).toEqual(then);
      const [node, , rotated] = await Promise.all(
        objects.map(([kind, name]) => resources.get(kind, home, name)),
      );
      expect(node?.spec, who).toMatchObject({ models, sync });
      expect(rotated?.spec, who).toMatchObject({ rotation });
      // An older controller that writes the status of a key leaves this out (docs/versions.md).
      if (who === "today's")
        expect(rotated?.status?.['retiredHashes']).toEqual([before.status?.hashes?.[0]?.hash]);
    };
    await isSteady("today's");
    await stage.controllers[0]?.stop();
    await isSteady('the older one');
    const again = await stage.start('controller');
    await again.whenReady(60_000);
    await olderController.stop();
    await isSteady("today's again");
    const node = await resources.get('UpstreamNode', home, 'node');
    expect(condition(node, 'Reachable')).toMatch(/^True/);
  },
  300_000,
);

/** Whether the gateways' reports prove the key as it is now. */
function isProven({ metadata, status }: Stored): boolean {
  const inForce = status?.conditions?.find(({ type }) => type === 'InForce');
  return inForce?.status === 'True' && inForce.observedGeneration === metadata.generation;
}
