import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKeyText } from '../../src/resources/key-text.ts';
import { lines, runCli, runShell } from '../support/cli.ts';
import { runHere } from '../support/cli-here.ts';
import { runKeyExamples } from '../support/cli-key-examples.ts';
import { eventually } from '../support/eventually.ts';
import { aSecondMs, measured } from '../support/measured.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { type Folders, manifest, newFolders, startStandalone } from '../support/standalone.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

// The API server's pod proxy refuses loopback addresses, so the gateway must listen on another one of this machine.
const address = Object.values(networkInterfaces())
  .flatMap((found) => found ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const keyPattern = /^mgk_[0-9A-Za-z]{49}$/;

let stage: Stage;
let failing: ScriptedUpstream;
let admin: string;
const asAdmin = (...args: string[]) => runHere([...args, '--kubeconfig', admin]);
/** The same as a process of its own, as people call it. */
const asPerson = (...args: string[]) => runCli(args, { env: { KUBECONFIG: admin } });

beforeAll(async () => {
  stage = await startStage({
    namespaces: ['cli-keys'],
    flags: { gateway: ['--admin-listen', `${address ?? '127.0.0.1'}:0`] },
  });
  await stage.addNode('good', { upstream: { models: ['cli-m'] }, spec: { weight: 75 } });
  failing = await stage.addNode('failing', { upstream: { models: ['cli-m'] }, spec: { weight: 25 } });
  for (const name of ['good', 'failing']) {
    await stage.until(`${name} is ready`, 'UpstreamNode', name, (node) => node.status?.phase === 'ready');
  }
  admin = await userWith('admin', { kind: 'ClusterRole', name: 'cluster-admin' });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** A kubeconfig of a user whose rights are those of one role, in the stage's namespace alone. */
async function userWith(name: string, role: { kind: string; name: string } | undefined): Promise<string> {
  const { cluster, home: namespace } = stage;
  const documents: object[] = [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }];
  if (role !== undefined) {
    documents.push({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...role },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    });
  }
  const { applied, message } = await cluster.apply(
    documents.map((each) => JSON.stringify(each)).join('\n---\n'),
    namespace,
  );
  if (!applied) throw new Error(message);
  return cluster.kubeconfigFor({ namespace, name });
}

const status = async (key: string, gateway = stage) => (await gateway.caller(key).chat('cli-m')).status;
const until = (what: string, key: string, wanted: number) =>
  eventually(what, async () => (await status(key)) === wanted, 10_000, 20);

async function issued(secret: string, known?: string): Promise<string> {
  let text: string | undefined;
  await eventually(`the Secret ${secret} holds a new key`, async () => {
    text = (await stage.resources.secret(stage.home, secret))?.text['apiKey'];
    return text !== undefined && text !== known;
  });
  return text ?? '';
}

describe('keys', () => {
  test('create prints the key alone, and it opens the gateway within a second; disable, enable, revoke bite', async () => {
    const created = await asPerson('key', 'create', 'one', '--models', 'cli-m', '--expires', '90d');
    expect(created.code, created.stderr).toBe(0);
    const [key = '', ...rest] = lines(created.stdout);
    expect(key).toMatch(keyPattern);
    expect(rest).toEqual([]);
    expect(created.stderr).toContain('apikey.modelgateway.dev/one created. This is the only time');
    const start = performance.now();
    await until('the key opens', key, 200);
    measured('key create → 200', performance.now() - start, aSecondMs);
    expect((await stage.caller(key).chat('other')).status).toBe(403);
    const { spec } = await stage.resources.get('APIKey', stage.home, 'one');
    expect(spec).toMatchObject({ models: ['cli-m'], hint: `mgk_...${key.slice(-4)}` });
    expect(Date.parse(String(spec['expirationTime'])) - Date.now()).toBeGreaterThan(89.9 * 86_400_000);

    expect((await asAdmin('key', 'disable', 'one')).stdout).toBe('apikey.modelgateway.dev/one disabled\n');
    await until('the disabled key is refused', key, 401);
    expect((await asAdmin('key', 'enable', 'apikey.modelgateway.dev/one')).code).toBe(0);
    await until('the enabled key opens', key, 200);
    const unasked = await asPerson('key', 'revoke', 'one');
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('add --yes')]);
    expect(await status(key)).toBe(200);
    const revoked = await asPerson('key', 'revoke', 'one', 'nobody', '--yes');
    expect(revoked).toMatchObject({ code: 3, stdout: 'apikey.modelgateway.dev/one revoked\n' });
    expect(revoked.stderr).toContain('nobody');
    await until('the revoked key is refused', key, 401);
  });

  test('a key in a Secret: rotate waits, keeps the old one for the overlap, and can be asked twice', async () => {
    expect((await asAdmin('key', 'create', 'app', '--secret-name', 'app-key')).stdout).toBe(
      'apikey.modelgateway.dev/app created\n',
    );
    const old = await issued('app-key');
    await until('the key opens', old, 200);
    const rotated = await asPerson('key', 'rotate', 'app', '--overlap', '24h');
    expect(rotated.code, rotated.stderr).toBe(0);
    const fresh = await issued('app-key', old);
    expect(rotated.stdout).toContain(`the new key mgk_...${fresh.slice(-4)} is in the Secret app-key`);
    expect(rotated.stdout).toContain(`the old one, mgk_...${old.slice(-4)}, ends at `);
    await until('the new key opens', fresh, 200);
    expect(await status(old)).toBe(200);
    const { spec, status: found } = await stage.resources.get('APIKey', stage.home, 'app');
    expect(spec['rotation']).toEqual({ revision: 1, overlapSeconds: 86_400 });
    expect(found?.hashes?.map(({ revision }) => revision)).toEqual([1, 0]);
    const shown = await asAdmin('key', 'show', 'app');
    expect(shown.stdout).toMatch(new RegExp(`mgk_...${fresh.slice(-4)} +1 +\\d+s ago +- +sha256:`));
    expect(shown.stdout).toMatch(new RegExp(`mgk_...${old.slice(-4)} +0 +.* in 2[34]h`));
    expect((await asAdmin('key', 'rotate', 'app', '--overlap', '0')).stdout).toContain(
      'no older key is in force',
    );
    await until('the first key has ended', old, 401);
  });

  test('reveal shows the key of a Secret; edit changes a key at once, and takes no field of another manager', async () => {
    await asAdmin('key', 'create', 'edited', '--secret-name', 'edited-key');
    const key = await issued('edited-key');
    expect(await asPerson('key', 'reveal', 'edited')).toEqual({ code: 0, stdout: `${key}\n`, stderr: '' });
    await until('the key opens', key, 200);
    const edited = await asAdmin('key', 'edit', 'edited', '--models', 'other', '--display-name', 'Edited');
    expect(edited).toMatchObject({ code: 0, stdout: 'apikey.modelgateway.dev/edited edited\n' });
    await until('the allowlist is in force', key, 403);
    expect((await asAdmin('key', 'edit', 'edited', '--models', 'all')).code).toBe(0);
    await until('the allowlist is removed', key, 200);

    const owned = {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'APIKey',
      metadata: { name: 'owned' },
      spec: { secretName: 'owned-key', displayName: 'Theirs' },
    };
    await stage.cluster.kubectl(
      ['apply', '--server-side', '--field-manager=argocd-controller', '-n', stage.home, '-f', '-'],
      JSON.stringify(owned),
    );
    const refused = await asAdmin('key', 'edit', 'owned', '--display-name', 'Ours');
    expect([refused.code, refused.stderr]).toEqual([
      5,
      expect.stringMatching(/displayName.*argocd|argocd.*displayName/s),
    ]);
    expect((await asAdmin('key', 'edit', 'owned', '--display-name', 'Ours', '--force')).code).toBe(0);
  });

  test('a key that is only known by its hash cannot be rotated, and is told what to do', async () => {
    const text = generateKeyText('api', () => Buffer.alloc(32, 3));
    const brought = await runHere(['key', 'create', 'brought', '--key-stdin', '--kubeconfig', admin], {
      input: `${text}\n`,
    });
    expect(brought).toMatchObject({ code: 0, stdout: 'apikey.modelgateway.dev/brought created\n' });
    await until('it opens', text, 200);
    const rotated = await asAdmin('key', 'rotate', 'brought');
    expect([rotated.code, rotated.stderr]).toEqual([6, expect.stringContaining('key create')]);
    const bad = await runHere(['key', 'create', 'bad', '--key-stdin', '--kubeconfig', admin], {
      input: `${text}x`,
    });
    expect([bad.code, bad.stderr]).toEqual([6, expect.stringContaining('mistyped')]);
    expect(bad.stderr).not.toContain(text.slice(0, 12));
  });

  test('a master key opens /v1/keys, and what it makes is listed', async () => {
    const created = await asAdmin('masterkey', 'create', 'root');
    const master = created.stdout.trim();
    expect(master).toMatch(/^mgm_/);
    const caller = stage.caller(master);
    await eventually('it opens /v1/keys', async () => (await caller.send('GET', '/keys')).status === 200);
    const made = await caller.send('POST', '/keys', { name: 'by program' });
    expect(made.status).toBe(201);
    const { id } = JSON.parse(made.text) as { id: string };
    expect(lines((await asAdmin('keys', '-o', 'name')).stdout)).toContain(`apikey.modelgateway.dev/${id}`);
    expect((await asAdmin('masterkeys')).stdout).toMatch(
      /^NAME +READY +ENABLED +HINT +EXPIRES +AGE\nroot +(True|Unknown)/,
    );
    const json = JSON.parse((await asAdmin('keys', '-o', 'json')).stdout) as {
      kind: string;
      items: unknown[];
    };
    expect([json.kind, json.items.length > 0]).toEqual(['List', true]);
  });

  test('dry runs store nothing; a name twice, a bad field and a missing right have their own exit codes', async () => {
    const dry = await asAdmin('key', 'create', 'dry', '--dry-run', '--strict', '--node-namespaces', 'a,b');
    expect(dry.stdout).toMatch(/kind: APIKey\n(.|\n)*conversion: Strict/);
    expect(dry.stdout).not.toContain('mgk_1');
    expect((await asAdmin('key', 'show', 'dry')).code).toBe(3);
    expect((await asAdmin('key', 'create', 'twice', '--secret-name', 'twice')).code).toBe(0);
    expect((await asAdmin('key', 'create', 'twice')).code).toBe(5);
    expect((await asAdmin('key', 'create', 'BAD')).code).toBe(6);
    expect((await asAdmin('key', 'create', 'x', '--expires', '2020-01-01T00:00:00Z')).code).toBe(2);
    const nobody = await userWith('nobody', undefined);
    for (const args of [
      ['keys'],
      ['key', 'create', 'x'],
      ['key', 'rotate', 'twice'],
      ['route', 'explain', 'm'],
    ]) {
      const { code, stdout, stderr } = await runHere([...args, '--kubeconfig', nobody]);
      expect([args, code, stdout]).toEqual([args, 4, '']);
      expect(stderr).toMatch(/apikeys|upstreamnodes/);
    }
  });

  test('every example of --help runs', async () => {
    const { kubeconfig } = stage.cluster.address;
    const namespace = await stage.cluster.newNamespace('cli-examples');
    // Its rotations would wait for a controller, which serves another namespace.
    const run = (...args: string[]) => {
      const isLocal = args[0] === 'check';
      const patience = args[1] === 'rotate' && !args.includes('--no-wait') ? ['--no-wait'] : [];
      const where = isLocal ? [] : ['--kubeconfig', kubeconfig, '--namespace', namespace];
      return runHere([
        ...args,
        ...patience,
        ...(args.includes('--all-namespaces') ? where.slice(0, 2) : where),
      ]);
    };
    await runKeyExamples(run, fileURLToPath(new URL('../../examples/gitops/kustomize', import.meta.url)));
  });

  test('a reader that goes away is no failure, and what was created is told on stderr', async () => {
    const script = 'set -o pipefail; $MODEL_GATEWAY keys | true && $MODEL_GATEWAY key create piped | true';
    const { code, stderr } = await runShell(script, { env: { KUBECONFIG: admin } });
    expect(code).toBe(0);
    expect(stderr).toContain('apikey.modelgateway.dev/piped created');
    expect((await asAdmin('key', 'show', 'piped')).code).toBe(0);
  });
});

describe('route explain', () => {
  test('shares, then the open circuit of a real gateway, and which right is missing to see it', async ({
    skip,
  }) => {
    const key = (await asAdmin('key', 'create', 'routed')).stdout.trim();
    await until('the key opens', key, 200);
    const before = await asPerson('route', 'explain', 'cli-m', '--key', 'routed');
    expect(before.code, before.stderr).toBe(0);
    expect(before.stdout).toMatch(/^1 +\S+\/good +75 % +50 +75 +ready +native$/m);
    expect(before.stdout).toMatch(/^1 +\S+\/failing +25 % +50 +25 +ready +native$/m);
    expect(before.stderr).toContain('No pods of a gateway were found');

    await podOf('gateway-0', new URL(stage.gateways[0]?.admin ?? ''));
    failing.respondWith('/chat/completions', {
      kind: 'answer',
      status: 429,
      headers: { 'retry-after': '300' },
    });
    await eventually('the circuit opens', async () => {
      expect(await status(key)).toBe(200);
      return (
        (await stage.gateways[0]?.probe('/metrics'))?.body.includes('modelgateway_circuit_state{') === true
      );
    });
    const after = await asAdmin('route', 'explain', 'cli-m', '-o', 'json');
    const { gateways, nodes, unknown } = JSON.parse(after.stdout) as Record<
      string,
      Record<string, unknown>[]
    >;
    if (address === undefined)
      skip('this machine has no IPv4 address but loopback, which pod proxies refuse');
    expect([gateways, unknown]).toEqual([['gateway-0'], []]);
    expect(nodes).toMatchObject([
      { node: `${stage.home}/good`, tier: 1, share: 1, demoted: [] },
      {
        node: `${stage.home}/failing`,
        tier: 2,
        share: 1,
        demoted: [{ reason: 'circuit', gateways: ['gateway-0'] }],
      },
    ]);

    await podOf('gateway-1', new URL(`http://${address}:1`));
    const partly = await asAdmin('route', 'explain', 'cli-m');
    expect(partly.stdout).toMatch(/^2 +\S+\/failing .* last resort: its circuit is open in gateway-0$/m);
    expect(partly.stderr).toContain(`The circuits of ${stage.home}/gateway-1 are unknown: `);

    await stage.cluster.apply(
      JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'viewer' },
        rules: [
          { apiGroups: ['modelgateway.dev'], resources: ['*'], verbs: ['get', 'list'] },
          { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
        ],
      }),
      stage.home,
    );
    const viewer = await userWith('viewer', { kind: 'Role', name: 'viewer' });
    const blind = await runHere(['route', 'explain', 'cli-m', '--kubeconfig', viewer]);
    expect(blind.stdout).toMatch(/^1 +\S+\/failing +25 %/m);
    expect(blind.stderr).toContain(`has no permission to get pods/proxy there`);
  });

  /** A pod object for the gateway process, as a kubelet would report it. */
  async function podOf(name: string, { hostname, port }: URL): Promise<void> {
    const labels = { 'app.kubernetes.io/part-of': 'model-gateway', 'app.kubernetes.io/component': 'gateway' };
    const container = {
      name: 'gateway',
      image: 'none',
      ports: [{ name: 'admin', containerPort: Number(port) }],
    };
    const { client, home } = { client: stage.cluster.client, home: stage.home };
    const pods = `/api/v1/namespaces/${home}/pods`;
    await client.ask('POST', pods, {
      body: {
        metadata: { name, labels },
        spec: { containers: [container], automountServiceAccountToken: false, nodeName: 'none' },
      },
    });
    const body = { status: { phase: 'Running', podIP: hostname, podIPs: [{ ip: hostname }] } };
    await client.ask('PATCH', `${pods}/${name}/status`, { body });
  }
});

describe('in a folder of manifests', () => {
  let folders: Folders;
  beforeAll(async () => {
    const upstream = await stage.upstream({ models: ['cli-m'] });
    folders = await newFolders({ 'node.yaml': manifest('UpstreamNode', 'node', { baseURL: upstream.url }) });
  });
  afterAll(() => folders?.[Symbol.asyncDispose]());

  test('the same commands edit the files that a running gateway follows', async () => {
    await using gateway = await startStandalone({ folders });
    const where = ['--manifests', folders.manifests, '--data', folders.data];
    const inFolder = (...args: string[]) => runHere([...args, ...where]);
    await eventually('the node is ready', async () => (await inFolder('nodes')).stdout.includes('ready'));
    const created = await runCli(['key', 'create', 'one', ...where]);
    expect(created.code, created.stderr).toBe(0);
    const caller = gateway.caller(created.stdout.trim());
    const start = performance.now();
    await eventually('the key opens', async () => (await caller.chat('cli-m')).status === 200, 10_000, 20);
    measured('key create in a folder → 200', performance.now() - start, aSecondMs);
    const explained = await inFolder(
      'route',
      'explain',
      'cli-m',
      '--key',
      'one',
      '--admin-url',
      gateway.admin,
    );
    expect(explained.stdout).toMatch(/^1 +default\/node +100 % +50 +50 +ready +native$/m);
    expect(explained.stderr).toBe('');
    const blind = await inFolder('route', 'explain', 'cli-m', '--admin-url', 'http://127.0.0.1:1');
    expect([blind.code, blind.stderr]).toEqual([0, expect.stringContaining('circuits are unknown')]);
    expect((await inFolder('key', 'revoke', 'one', '--yes')).code).toBe(0);
    await eventually('the revoked key is refused', async () => (await caller.chat('cli-m')).status === 401);
    const missing = await inFolder('key', 'revoke', 'made-by-program', '--yes');
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining('/v1/keys')]);
  });
});
