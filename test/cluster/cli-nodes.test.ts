import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { generateSealingIdentity, sealingRecipient } from '../../src/resources/sealed-key.ts';
import { lines, runCli, runShell } from '../support/cli.ts';
import { nodeExamples } from '../support/cli-examples.ts';
import { runHere } from '../support/cli-here.ts';
import { expectSteps, nodeSteps, words } from '../support/cli-steps.ts';
import { sharedCluster } from '../support/cluster.ts';
import { resourcesOf } from '../support/resources.ts';
import type { Ended } from '../support/run-to-end.ts';
import { startStage } from '../support/stage.ts';

const cluster = sharedCluster();
const resources = resourcesOf(cluster);
const rbac = '/apis/rbac.authorization.k8s.io/v1';
let scratch: string;
beforeAll(async () => {
  await cluster.applyCrds();
  scratch = await mkdtemp(join(tmpdir(), 'cli-nodes-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));
afterEach(() => void vi.unstubAllEnvs());

/** A kubeconfig of a ServiceAccount whose context has that namespace; with cluster-admin's rights, or with those given. */
async function userIn(namespace: string, name: string, rules: readonly object[] | 'admin'): Promise<string> {
  const { client } = cluster;
  await client.ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
    body: { metadata: { name } },
  });
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  if (rules === 'admin') {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
    const body = { metadata: { name: `${namespace}-${name}` }, roleRef, subjects };
    await client.ask('POST', `${rbac}/clusterrolebindings`, { body });
  } else {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
    const at = `${rbac}/namespaces/${namespace}`;
    await client.ask('POST', `${at}/roles`, { body: { metadata: { name }, rules } });
    await client.ask('POST', `${at}/rolebindings`, { body: { metadata: { name }, roleRef, subjects } });
  }
  return cluster.kubeconfigFor({ namespace, name });
}

async function adminOf(prefix: string) {
  const namespace = await cluster.newNamespace(prefix);
  const kubeconfig = await userIn(namespace, 'admin', 'admin');
  const at = ['--kubeconfig', kubeconfig];
  return { namespace, kubeconfig, run: (command: string) => runHere([...words(command), ...at]) };
}

test('the life of nodes and models in a cluster, as in a folder', async () => {
  const { namespace, kubeconfig } = await adminOf('cli-life');
  const recipient = await sealingRecipient(await generateSealingIdentity());
  const body = { metadata: { name: 'model-gateway-sealing' }, data: { recipient } };
  await cluster.client.ask('POST', `/api/v1/namespaces/${namespace}/configmaps`, { body });
  vi.stubEnv('KUBECONFIG', kubeconfig);
  vi.stubEnv('TMPDIR', scratch);
  await expectSteps(nodeSteps, { MODEL_GATEWAY_HOME_NAMESPACE: namespace });
});

test('sync waits and tells what came and went; every example runs against a controller', async () => {
  await using stage = await startStage({ namespaces: ['cli-sync'], roles: ['controller'] });
  const upstream = await stage.upstream({ models: ['gpt-5', 'text-embedding-3'] });
  const kubeconfig = await userIn(stage.home, 'admin', 'admin');
  vi.stubEnv('KUBECONFIG', kubeconfig);
  const env = { MODEL_GATEWAY_HOME_NAMESPACE: stage.home };
  const fresh = async (): Promise<void> => {
    const nodes = `/apis/modelgateway.dev/v1alpha1/namespaces/${stage.home}/upstreamnodes`;
    await cluster.client.ask('DELETE', nodes);
    for (const name of ['openai', 'old-server']) {
      await stage.resources.create('UpstreamNode', stage.home, name, { baseURL: upstream.url });
    }
    await stage.until('synced', 'UpstreamNode', 'openai', ({ status }) => status?.phase === 'ready');
  };
  await fresh();
  await stage.resources.patch('UpstreamNode', stage.home, 'openai', { spec: { manualModels: ['by-hand'] } });
  await stage.until('known', 'UpstreamNode', 'openai', ({ status }) => status?.models?.length === 3);
  await stage.resources.create('UpstreamNode', stage.home, 'broken', { baseURL: 'http://127.0.0.1:9/v1' });
  const frozen = { baseURL: upstream.url, sync: { suspend: true } };
  await stage.resources.create('UpstreamNode', stage.home, 'frozen', frozen);
  // The real program, several nodes: one that fails and one that is not there do not keep the others.
  const synced = await runCli(['node', 'sync', 'openai', 'broken', 'nobody', 'frozen', 'old-server'], {
    env: { KUBECONFIG: kubeconfig },
  });
  // 3 for the one, 1 for the other: together 1.
  expect(synced.code).toBe(1);
  expect(lines(synced.stdout).sort()).toEqual([
    'upstreamnode.modelgateway.dev/old-server synced: 2 models',
    'upstreamnode.modelgateway.dev/openai synced: 3 models',
  ]);
  expect(synced.stderr).toMatch(/nobody: There is no UpstreamNode/);
  expect(synced.stderr).toMatch(/broken: sync failed: /);
  expect(synced.stderr).toMatch(/frozen: its sync is suspended.*set spec\.sync\.suspend to false/);
  await stage.resources.patch('UpstreamNode', stage.home, 'openai', {
    spec: { baseURL: `${upstream.url}/` },
  });
  const shown = await runHere(['node', 'show', 'broken']);
  expect(shown.stdout).toMatch(/\nStatus: +(error|offline)\nMessage: +\S.*\n/);
  expect(shown.stdout).toMatch(/\nLast sync error: +\S.*\n/);
  expect(shown.stdout).toMatch(/\nConditions:\n {2}TYPE +STATUS +REASON +SINCE +MESSAGE\n/);
  await stage.resources.remove('UpstreamNode', stage.home, 'broken');
  await stage.resources.remove('UpstreamNode', stage.home, 'frozen');

  const key = join(scratch, 'key');
  await writeFile(key, 'sk-example\n');
  for (const example of await nodeExamples()) {
    await fresh();
    const [command = '', file] = example.split(' <');
    const input = file === undefined ? '' : await readFile(join(scratch, file.trim()), 'utf8');
    const { code, stderr } = await runHere(words(command), { input, env });
    expect
      .soft({ example, code, stderr: code === 0 ? '' : stderr })
      .toEqual({ example, code: 0, stderr: '' });
  }
});

test('two people edit one node: what only one changed stays, what both changed is refused, owners are named', async () => {
  const { namespace, kubeconfig, run } = await adminOf('cli-two');
  const node = (name: string, spec: object): string =>
    JSON.stringify({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'UpstreamNode',
      metadata: { name },
      spec: { baseURL: 'https://x.example/v1', ...spec },
    });
  await cluster.kubectl(['create', '-n', namespace, '-f', '-'], node('openai', { priority: 40, weight: 40 }));
  vi.stubEnv('TMPDIR', scratch);
  /** Edits a field in an editor, while somebody else changes the node by kubectl. */
  const editWhile = async (patch: object, from: string, to: string): Promise<Ended> => {
    const script = join(scratch, 'editor.sh');
    const { kubectlBinary, kubeconfig: admin } = cluster.address;
    await writeFile(
      script,
      `#!/bin/sh
${kubectlBinary} --kubeconfig ${admin} -n ${namespace} patch upstreamnode openai --type merge -p '${JSON.stringify(patch)}' >/dev/null || exit 9
sed -i 's/${from}/${to}/' "$1"
`,
    );
    await chmod(script, 0o755);
    return runHere(['node', 'edit', 'openai', '--kubeconfig', kubeconfig], { env: { EDITOR: script } });
  };
  const apart = await editWhile({ spec: { weight: 7 } }, 'priority: 40', 'priority: 60');
  expect(apart).toEqual({
    code: 0,
    stdout: 'upstreamnode.modelgateway.dev/openai edited\n',
    stderr: 'Another person changed spec.weight while you edited; that stays.\n',
  });
  expect((await resources.get('UpstreamNode', namespace, 'openai')).spec).toMatchObject({
    priority: 60,
    weight: 7,
  });
  const same = await editWhile({ spec: { priority: 99 } }, 'priority: 60', 'priority: 61');
  expect(same.code).toBe(5);
  expect(same.stderr).toMatch(
    /Another person changed spec\.priority while you edited; look at it and edit again\.\nWhat you wrote is kept in /,
  );
  expect((await resources.get('UpstreamNode', namespace, 'openai')).spec).toMatchObject({ priority: 99 });

  // A field that GitOps owns is not taken by accident.
  await cluster.kubectl(
    ['apply', '--server-side', '--field-manager=argocd-controller', '-n', namespace, '-f', '-'],
    node('owned', { enabled: true }),
  );
  const refused = await run('node disable owned');
  expect(refused.code).toBe(5);
  expect(refused.stderr).toMatch(/spec\.enabled/);
  expect(refused.stderr).toMatch(/argocd-controller/);
  expect((await run('node disable owned --force')).code).toBe(0);
  expect((await resources.get('UpstreamNode', namespace, 'owned')).spec).toMatchObject({ enabled: false });
  expect(await run('node delete owned -y')).toEqual({
    code: 0,
    stdout: 'upstreamnode.modelgateway.dev/owned deleted\n',
    stderr:
      'owned is managed by field manager argocd-controller, which may declare it again; remove it there too.\n',
  });
});

test('without rights: what is missing is named, with exit code 4, and nothing is half done', async () => {
  const { namespace } = await adminOf('cli-rights');
  for (const name of ['openai', 'other']) {
    await resources.create('UpstreamNode', namespace, name, { baseURL: 'https://x.example/v1' });
  }
  const nobody = await userIn(namespace, 'nobody', []);
  const viewer = await userIn(namespace, 'viewer', [
    { apiGroups: ['modelgateway.dev'], resources: ['upstreamnodes'], verbs: ['get', 'list', 'watch'] },
  ]);
  const refusal = (verb: string, user: string) =>
    new RegExp(
      `system:serviceaccount:${namespace}:${user} may not ${verb} upstreamnodes\\.modelgateway\\.dev`,
    );
  // As people meet it: the real program with a real token.
  const listed = await runCli(['nodes', '--kubeconfig', nobody]);
  expect(listed).toMatchObject({ code: 4, stdout: '' });
  expect(listed.stderr).toMatch(refusal('list', 'nobody'));
  await expectSteps(
    [
      { run: `nodes -o name --kubeconfig ${viewer}`, out: /openai\n.*other\n/ },
      { run: `nodes -A --kubeconfig ${viewer}`, code: 4, err: /name one namespace with -n/ },
      { run: `node show openai --kubeconfig ${nobody}`, code: 4, err: refusal('get', 'nobody') },
      {
        run: `node disable openai other --kubeconfig ${viewer}`,
        code: 4,
        out: [],
        err: refusal('patch', 'viewer'),
      },
      { run: `node delete openai -y --kubeconfig ${viewer}`, code: 4, err: refusal('delete', 'viewer') },
      { run: `node sync openai --kubeconfig ${viewer}`, code: 4, err: refusal('patch', 'viewer') },
      { run: `model disable openai x --kubeconfig ${viewer}`, code: 3, err: /has no model "x"/ },
      {
        run: `node add new --base-url https://x.example/v1 --kubeconfig ${viewer}`,
        code: 4,
        err: refusal('create', 'viewer'),
      },
      // Acting as somebody needs the right to, and then it is theirs that count.
      { run: `nodes --kubeconfig ${viewer} --as somebody`, code: 4, err: /impersonate/ },
      {
        run: `nodes -n ${namespace} --kubeconfig ${cluster.address.kubeconfig} --as somebody`,
        code: 4,
        err: /somebody may not list/,
      },
      {
        run: `nodes -n ${namespace} -o name --kubeconfig ${cluster.address.kubeconfig} --as somebody --as-group system:masters`,
        out: /openai\n.*other\n/,
      },
      { run: `__complete -- node show --kubeconfig ${nobody} ""`, out: [':4'] },
    ],
    {},
  );
});

test('a kubeconfig that cannot be used, a server that is not there: one line that says what to do, exit code 7', async () => {
  const broken = join(scratch, 'broken');
  await writeFile(broken, 'users: [token: sk-very-secret');
  const text = await readFile(cluster.address.kubeconfig, 'utf8');
  const away = join(scratch, 'away');
  await writeFile(away, text.replace(/server: .*/, 'server: https://127.0.0.1:9'));
  const unreadable = { code: 7, out: [] };
  await expectSteps(
    [
      {
        ...unreadable,
        run: `nodes --kubeconfig ${scratch}/none`,
        err: /^model-gateway: kubeconfig .*none cannot be read.*--manifests DIR\.\n$/,
      },
      {
        ...unreadable,
        run: `nodes --kubeconfig ${broken}`,
        err: /^(?!.*sk-very-secret).*is not valid: create it again/,
      },
      {
        ...unreadable,
        run: `nodes --kubeconfig ${cluster.address.kubeconfig} --context nope`,
        err: /no context "nope": it has /,
      },
      {
        ...unreadable,
        run: `nodes --kubeconfig ${away}`,
        err: /https:\/\/127\.0\.0\.1:9 cannot be reached \(ECONNREFUSED\)/,
      },
      { ...unreadable, run: `version --kubeconfig ${away}`, out: /^client: / },
    ],
    {},
  );
});

test('1,000 nodes, and the same as a kubectl plugin', async () => {
  const { namespace, kubeconfig } = await adminOf('cli-many');
  const names = Array.from({ length: 1_000 }, (_, n) => `node-${String(n).padStart(4, '0')}`);
  for (let at = 0; at < names.length; at += 25) {
    const some = names.slice(at, at + 25);
    await Promise.all(
      some.map((name) =>
        resources.create('UpstreamNode', namespace, name, { baseURL: `https://${name}.example/v1` }),
      ),
    );
  }
  const env = { KUBECONFIG: kubeconfig };
  const started = performance.now();
  const listed = await runCli(['nodes', '-o', 'name'], { env });
  expect(lines(listed.stdout)).toEqual(names.map((name) => `upstreamnode.modelgateway.dev/${name}`));
  // 1.3 s on an idle machine of two cores.
  expect(performance.now() - started).toBeLessThan(15_000);
  expect((await runShell('$MODEL_GATEWAY nodes -o yaml | head -1; echo $PIPESTATUS', { env })).stdout).toBe(
    'apiVersion: v1\n0\n',
  );

  // kubectl finds plugins by their names in PATH.
  const bin = join(scratch, 'bin');
  await mkdir(bin);
  for (const name of ['kubectl-modelgateway', 'kubectl_complete-modelgateway']) {
    await symlink(fileURLToPath(new URL('../../src/main.ts', import.meta.url)), join(scratch, name));
    await writeFile(join(bin, name), `#!/bin/sh\nexec ${process.execPath} ${join(scratch, name)} "$@"\n`, {
      mode: 0o755,
    });
  }
  const kubectl = (script: string) =>
    runShell(`PATH=${bin}:$PATH; ${cluster.address.kubectlBinary} ${script}`, { env });
  const plugin = await kubectl('modelgateway nodes -o name');
  expect(plugin).toEqual(listed);
  expect((await kubectl('modelgateway node show --help')).stdout).toMatch(
    /^Usage: kubectl modelgateway node show NAME \[FLAGS\]\n/,
  );
  const unknown = await kubectl('modelgateway gateway');
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringMatching(/^kubectl modelgateway: unknown command 'gateway'/),
  ]);
  const few = await adminOf('cli-few');
  for (const name of ['one', 'only', 'two']) {
    await resources.create('UpstreamNode', few.namespace, name, { baseURL: `https://${name}.example/v1` });
  }
  env.KUBECONFIG = few.kubeconfig;
  await cluster.kubectl(['label', 'upstreamnode', 'one', 'team=a', '-n', few.namespace]);
  const labelled = await kubectl('modelgateway nodes -l team=a -o name');
  expect(labelled.stdout).toBe('upstreamnode.modelgateway.dev/one\n');
  // Asked again: it offers nothing where the API server takes more than 5 s, as it may beside other tests.
  await expect
    .poll(async () => lines((await kubectl('__complete modelgateway node show on')).stdout), {
      timeout: 60_000,
    })
    .toEqual(['one\thttps://one.example/v1', 'only\thttps://only.example/v1', ':4']);
});
