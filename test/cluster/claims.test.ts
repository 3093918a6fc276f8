import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiProxy, startApiProxy } from '../faults/api-proxy.ts';
import { eventually } from '../support/eventually.ts';
import type { RoleProcess } from '../support/processes.ts';
import { addServiceAccount, bindRole } from '../support/roles.ts';
import { type Stage, startStage } from '../support/stage.ts';

// Two installations serve the same namespaces, each with its own home namespace. Each uses its own proxy to the API server,
// which records its writes.
const claimSeconds = 15;
let stage: Stage;
let blue: Installation;
let green: Installation;

interface Installation {
  readonly home: string;
  readonly proxy: ApiProxy;
  /** The writes so far, without those to the Lease of its own leader election. */
  readonly writes: string[];
}

async function installation(home: string): Promise<Installation> {
  const proxy = await startApiProxy(stage.cluster.address);
  const writes: string[] = [];
  proxy.misbehave(({ method, url }) => {
    if (method !== 'GET' && !url.includes('/leases/model-gateway-controller'))
      writes.push(`${method} ${url}`);
    return undefined;
  });
  return { home, proxy, writes };
}

const start = (
  { home, proxy }: Installation,
  options: { namespaces?: readonly string[]; flags?: readonly string[] } = {},
): Promise<RoleProcess> =>
  stage.start('controller', {
    kubeconfig: proxy.kubeconfig,
    homeNamespace: home,
    namespaces: options.namespaces ?? stage.namespaces,
    flags: [
      '--claim-seconds',
      `${claimSeconds}`,
      '--gateway-url',
      `http://${home}.example/v1`,
      ...(options.flags ?? []),
    ],
  });

beforeEach(async () => {
  stage = await startStage({ namespaces: ['blue', 'green', 'team', 'team'], roles: [] });
  const [blueHome = '', greenHome = ''] = stage.namespaces;
  blue = await installation(blueHome);
  green = await installation(greenHome);
});
afterEach(async () => {
  await stage?.[Symbol.asyncDispose]();
  await Promise.all([blue, green].map((each) => each?.proxy.stop()));
});

const teams = () => stage.namespaces.slice(2);
const remarks = async (role: RoleProcess) => (await fetch(`${role.admin}/readyz?verbose`)).text();
const leasePath = (namespace: string, name?: string) =>
  `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases${name === undefined ? '' : `/${name}`}`;

async function holder(namespace: string, name = 'model-gateway'): Promise<string | undefined> {
  const { items } = (await stage.cluster.client.ask('GET', leasePath(namespace))) as {
    items: { metadata: { name: string }; spec: { holderIdentity?: string } }[];
  };
  return items.find(({ metadata }) => metadata.name === name)?.spec.holderIdentity;
}

/** Adds a node and a key with a generated Secret to a namespace, and waits until a controller has served both. */
async function fill(namespace: string, name: string, metadata: Record<string, unknown> = {}): Promise<void> {
  const { resources } = stage;
  const upstream = await stage.upstream({ models: ['m'] });
  const spec = { baseURL: upstream.url, healthCheck: { intervalSeconds: 10 } };
  await resources.create('UpstreamNode', namespace, name, spec, metadata);
  await resources.create('APIKey', namespace, name, { secretName: `${name}-key` }, metadata);
  await served(namespace, name);
}

async function served(namespace: string, name: string): Promise<void> {
  await stage.until(`${name} is ready`, 'UpstreamNode', name, ({ status }) => status?.phase === 'ready', {
    namespace,
  });
  await eventually(`${name} has a Secret`, async () => (await urlOf(namespace, name)) !== undefined);
}

const urlOf = async (namespace: string, name: string): Promise<string | undefined> =>
  (await stage.resources.secret(namespace, `${name}-key`))?.text['baseURL'];

const isOf = (namespace: string) => (write: string) => write.includes(`/namespaces/${namespace}/`);

test('of two installations one acts; the other says who, writes nothing, and takes over when the first is killed', async () => {
  const first = await start(blue);
  for (const team of teams()) await fill(team, 'a');
  for (const team of teams()) expect(await holder(team)).toBe(blue.home);
  const second = await start(green);
  for (const team of teams()) {
    await eventually('it says who serves', async () =>
      (await remarks(second)).includes(
        `namespace ${team} is left alone: the installation with the home namespace ${blue.home} serves`,
      ),
    );
    // Only the first installation serves objects that are created or changed now.
    await fill(team, 'b');
    expect(await urlOf(team, 'b')).toBe(`http://${blue.home}.example/v1`);
  }
  const told = second.log().filter(({ msg }) => msg.startsWith('Another installation serves this namespace'));
  expect(told.map(({ namespace }) => namespace).sort()).toEqual(teams().toSorted());
  const metrics = async (role: RoleProcess) => (await role.probe('/metrics')).body;
  expect(await metrics(second)).toContain('modelgateway_controller_namespaces{claim="Other"} 2');
  expect(await metrics(first)).toContain('modelgateway_controller_namespaces{claim="Held"} 2');
  await eventually('an Event says who serves', async () => {
    const { items } = (await stage.cluster.client.ask(
      'GET',
      `/apis/events.k8s.io/v1/namespaces/${green.home}/events`,
    )) as { items: { reason: string; note: string; regarding: { kind: string } }[] };
    const notes = items.filter(({ reason }) => reason === 'ServedElsewhere').map(({ note }) => note);
    return (
      notes.length > 0 &&
      teams().every((team) => notes.join().includes(team)) &&
      notes.join().includes(blue.home)
    );
  });
  // During three times of the claim, the first installation renews it, and the second writes nothing.
  const before = blue.writes.length;
  await new Promise((resolve) => setTimeout(resolve, claimSeconds * 3_000));
  for (const team of teams()) expect(green.writes.filter(isOf(team))).toEqual([]);
  const others = blue.writes.slice(before).filter((write) => !write.includes('/leases/'));
  expect(others).toEqual([]);
  const renewals = blue.writes.length - before;
  expect(renewals).toBeGreaterThan(8);
  expect(renewals).toBeLessThan(30);

  await first.stop('SIGKILL');
  await eventually(
    'the other took over',
    async () => (await holder(teams()[0] ?? '')) === green.home,
    60_000,
  );
  for (const team of teams()) {
    await eventually(
      'its address is in the Secret',
      async () => (await urlOf(team, 'a')) === `http://${green.home}.example/v1`,
      60_000,
    );
  }
  await eventually('no remark is left', async () => (await remarks(second)) === 'ok\n');
  // The first installation starts again, and now it waits.
  const blueWrites = blue.writes.length;
  const again = await start(blue);
  await eventually(
    'the first says who serves',
    async () =>
      (await remarks(again)).includes(`the installation with the home namespace ${green.home} serves`),
    60_000,
  );
  for (const team of teams()) expect(blue.writes.slice(blueWrites).filter(isOf(team))).toEqual([]);
}, 240_000);

test('blue/green: the old controller is stopped, its Leases are deleted, and the new one acts at once', async () => {
  const [team = ''] = teams();
  const old = await start(blue, { flags: ['--claim-seconds', '900'] });
  await fill(team, 'a');
  const young = await start(green, { flags: ['--claim-seconds', '900'] });
  await eventually('it says who serves', async () => (await remarks(young)).includes(blue.home));
  expect(await old.stop('SIGTERM')).toBe(0);
  // A rollout of the old installation does not give its claims to the other one.
  expect(await holder(team)).toBe(blue.home);
  await stage.cluster.client.ask('DELETE', leasePath(team, 'model-gateway'));
  await eventually('the new one acts', async () => (await holder(team)) === green.home, 60_000);
  await eventually(
    'and writes its address',
    async () => (await urlOf(team, 'a')) === `http://${green.home}.example/v1`,
    60_000,
  );
}, 180_000);

test('a restart of the installation that serves continues at once', async () => {
  const [team = ''] = teams();
  const first = await start(blue, { flags: ['--claim-seconds', '900'] });
  await fill(team, 'a');
  await first.stop('SIGKILL');
  // The lease of the replica is not released by a kill: 15 s.
  await start(blue, { flags: ['--claim-seconds', '900'] });
  await fill(team, 'b');
  expect(await holder(team)).toBe(blue.home);
}, 120_000);

test('installations of different classes serve the same namespace, each its own objects', async () => {
  const [team = ''] = teams();
  await start(blue);
  const canary = await start(green, { flags: ['--class', 'canary'] });
  await fill(team, 'stable');
  await fill(team, 'canary', { labels: { 'modelgateway.dev/class': 'canary' } });
  expect(await holder(team)).toBe(blue.home);
  expect(await holder(team, 'model-gateway.canary')).toBe(green.home);
  expect(await urlOf(team, 'stable')).toBe(`http://${blue.home}.example/v1`);
  expect(await urlOf(team, 'canary')).toBe(`http://${green.home}.example/v1`);
  expect(await remarks(canary)).toBe('ok\n');
}, 120_000);

test('with a Role that lacks Leases a namespace is served without a claim, and that is said', async () => {
  const { cluster } = stage;
  const [lagging = '', upToDate = ''] = teams();
  await addServiceAccount(cluster, blue.home, 'controller');
  await bindRole(cluster, 'controller-home.yaml', blue.home, blue.home, 'controller');
  for (const namespace of [lagging, upToDate]) {
    await bindRole(cluster, 'controller.yaml', namespace, blue.home, 'controller');
  }
  const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${lagging}/roles/model-gateway-controller`;
  const { rules } = (await cluster.client.ask('GET', role)) as { rules: { apiGroups: string[] }[] };
  const patch = (to: object[]) => cluster.client.ask('PATCH', role, { body: { rules: to } });
  await patch(rules.filter(({ apiGroups }) => !apiGroups.includes('coordination.k8s.io')));
  const controller = await stage.start('controller', {
    kubeconfig: await cluster.kubeconfigFor({ namespace: blue.home, name: 'controller' }),
    homeNamespace: blue.home,
    namespaces: [lagging, upToDate],
    flags: ['--claim-seconds', `${claimSeconds}`],
  });
  await fill(lagging, 'a');
  await fill(upToDate, 'a');
  expect(await remarks(controller)).toContain(`namespace ${lagging} is served without a claim: `);
  expect(await remarks(controller)).not.toContain(upToDate);
  expect([await holder(lagging), await holder(upToDate)]).toEqual([undefined, blue.home]);
  await patch(rules);
  await eventually('it is claimed', async () => (await holder(lagging)) === blue.home, 60_000);
  await eventually('nothing is said any more', async () => (await remarks(controller)) === 'ok\n');
}, 120_000);

test('the claim of a namespace without objects is released', async () => {
  const [team = ''] = teams();
  await start(blue);
  await fill(team, 'a');
  await stage.resources.remove('UpstreamNode', team, 'a');
  await stage.resources.remove('APIKey', team, 'a');
  await eventually('it is released', async () => (await holder(team)) === '');
  await start(green);
  await fill(team, 'b');
  // The first to notice the object takes it: one of the two, and no other afterwards.
  const winner = await holder(team);
  expect([blue.home, green.home]).toContain(winner);
}, 120_000);
