import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { reportPath, type StoredReport } from '../support/reports.ts';
import { addServiceAccount, bindRole } from '../support/roles.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['reports', 'reports-team'] });
  await stage.addNode('node', { upstream: { models: ['m'] } });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const path = (name: string) => reportPath(stage.home, name);
const read = async (name: string) => (await stage.cluster.client.ask('GET', path(name))) as StoredReport;
const stateOf = async (name: string) => {
  const { status, body } = await stage.cluster.client.send('GET', path(name));
  return status === 200 ? (body as StoredReport).spec.state : undefined;
};
const appliedOf = ({ spec }: StoredReport, namespace: string, field: string) =>
  spec.applied.find((entry) => entry['namespace'] === namespace)?.[field];

test('a gateway reports what it serves, and kubectl shows it', async () => {
  await eventually('it serves', async () => (await stateOf('gateway-0')) === 'Serving');
  const { spec } = await read('gateway-0');
  expect(spec.applied.map((entry) => Object.keys(entry).sort())).toEqual([
    ['apiKeys', 'masterKeys', 'namespace', 'upstreamNodes'],
    ['apiKeys', 'masterKeys', 'namespace', 'upstreamNodes'],
  ]);
  expect(spec.applied.map((entry) => entry['namespace'])).toEqual([...stage.namespaces]);
  const { stdout } = await stage.cluster.kubectl(['get', 'gwreport', '-n', stage.home]);
  expect(stdout).toMatch(/^NAME +STATE +VERSION +IN FLIGHT +CIRCUITS +HEARTBEAT +AGE\n/);
  expect(stdout).toMatch(/^gateway-0 +Serving +\S+ +0 +0 +\d+s +\d+s\n$/m);
  const all = await stage.cluster.kubectl(['get', 'modelgateway', '-n', stage.home, '-o', 'name']);
  expect(all.stdout).toContain('gatewayreport.modelgateway.dev/gateway-0');
});

test('the version of a key’s change is reported at once, after it is in force', async () => {
  const [home, team = ''] = stage.namespaces;
  for (const namespace of [home ?? '', team]) {
    await stage.resources.addKey(namespace, 'key');
    const { metadata } = await stage.resources.patch('APIKey', namespace, 'key', {
      spec: { enabled: false },
    });
    const isReported = async () => {
      const version = appliedOf(await read('gateway-0'), namespace, 'apiKeys');
      return BigInt(version ?? 0) >= BigInt(metadata.resourceVersion);
    };
    await eventually('the change is reported', isReported, 5_000);
  }
});

test('at rest it writes each ten seconds, and no oftener', async () => {
  // Twice as long as a heartbeat takes, and nothing else happens in these namespaces.
  await eventually('the writes have settled', async () => {
    const before = (await read('gateway-0')).metadata.resourceVersion;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    return (await read('gateway-0')).metadata.resourceVersion === before;
  });
  const writes = new Set<string>();
  const began = performance.now();
  while (performance.now() - began < 21_000) {
    writes.add((await read('gateway-0')).metadata.resourceVersion);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  expect(writes.size).toBeGreaterThanOrEqual(2);
  expect(writes.size).toBeLessThanOrEqual(4);
}, 60_000);

describe('a gateway', () => {
  test('names its pod as owner, and says when it has stopped', async () => {
    const env = { POD_NAMESPACE: stage.home, POD_UID: '00000000-0000-4000-8000-000000000001' };
    const gateway = await stage.start('gateway', { podName: 'owned', env });
    await gateway.whenReady();
    await eventually('it serves', async () => (await stateOf('owned')) === 'Serving');
    expect((await read('owned')).metadata.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Pod', name: 'owned', uid: env.POD_UID },
    ]);
    await gateway.stop();
    // The controller removes the report of a gateway that has stopped.
    const states = new Set<string | undefined>();
    await eventually('it has stopped', async () => {
      states.add(await stateOf('owned'));
      return states.has('Stopped') || states.has(undefined);
    });
  });

  test('serves on without the permission to report, and says so once', async () => {
    const { cluster, home } = stage;
    await addServiceAccount(cluster, home, 'silent');
    await bindRole(cluster, 'gateway.yaml', home, home, 'silent');
    const kubeconfig = await cluster.kubeconfigFor({ namespace: home, name: 'silent' });
    const gateway = await stage.start('gateway', { podName: 'silent', kubeconfig, namespaces: [home] });
    await gateway.whenReady();
    const failures = async () => {
      const { body } = await gateway.probe('/metrics');
      return Number(/^modelgateway_report_failures_total (\d+)$/m.exec(body)?.[1]);
    };
    await eventually('it has tried several times', async () => (await failures()) >= 3);
    const said = gateway.log().filter(({ msg }) => msg?.includes('report of this gateway'));
    expect(said).toHaveLength(1);
    expect(said[0]?.msg).toContain('grant "create", "get" and "update" on gatewayreports');
    expect(await stateOf('silent')).toBeUndefined();
  });

  test('takes over the report of a process that was killed', async () => {
    const first = await stage.start('gateway', { podName: 'again' });
    await first.whenReady();
    await first.stop('SIGKILL');
    const second = await stage.start('gateway', { podName: 'again' });
    await second.whenReady();
    await eventually('it serves', async () => (await stateOf('again')) === 'Serving');
  });
});

test('two processes of one name prove nothing, and say so', async () => {
  const pair = [
    await stage.start('gateway', { podName: 'twin' }),
    await stage.start('gateway', { podName: 'twin' }),
  ];
  await Promise.all(pair.map((gateway) => gateway.whenReady()));
  await eventually(
    'both say so',
    async () => pair.every((gateway) => gateway.log().some(({ msg }) => msg?.includes('its own POD_NAME'))),
    60_000,
  );
  const { applied } = (await read('twin')).spec;
  expect(applied).toEqual([]);
}, 120_000);
