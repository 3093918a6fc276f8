import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createKindCluster } from '../../e2e/kind-cluster.ts';
import { steps } from '../../e2e/steps.ts';
import { withoutApiServer } from '../../e2e/without-api-server.ts';
import { runToEnd } from '../../support/run-to-end.ts';

// What `npm run e2e` does can be run where Docker and kind are; what it calls is looked at everywhere.
const previous = { chart: 'before', lacks: 'displayName' };

/** A cluster whose commands go nowhere; its API server stops and comes back as its manifest goes and comes. */
async function paperCluster() {
  const ran: string[] = [];
  let isUp = true;
  const run = async (command: string, args: readonly string[]): Promise<string> => {
    ran.push([command, ...args].join(' '));
    if (command === 'docker') isUp = args.at(-1)?.includes('/manifests/') === true;
    if (command === 'kubectl' && !isUp) throw new Error('connection refused');
    return '{}';
  };
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-e2e-'));
  const cluster = await createKindCluster('x', folder, 'kindest/node:v1', run);
  /** The commands since the last call, with the kubeconfig left out. */
  const told = () => ran.splice(0).map((line) => line.replaceAll(folder, 'FOLDER'));
  return { cluster, folder, told };
}

test('the cluster has three nodes, and is reached by a kubeconfig of its own', async () => {
  const { cluster, folder, told } = await paperCluster();
  const config = JSON.parse(await readFile(join(folder, 'kind.json'), 'utf8')) as {
    nodes: { role: string }[];
  };
  expect(config.nodes.map(({ role }) => role)).toEqual(['control-plane', 'worker', 'worker']);
  await cluster.json(['get', 'pods']);
  await cluster.loadImage('model-gateway:e2e');
  await cluster.delete();
  expect(told()).toEqual([
    'kind create cluster --name x --config FOLDER/kind.json --kubeconfig FOLDER/kubeconfig --wait 5m --image kindest/node:v1',
    'kubectl --kubeconfig FOLDER/kubeconfig get pods -o json',
    'kind load docker-image model-gateway:e2e --name x',
    'kind delete cluster --name x --kubeconfig FOLDER/kubeconfig',
  ]);
});

test('the API server goes, and comes back even after a failure', async () => {
  const { cluster, told } = await paperCluster();
  told();
  const meanwhile = async () => {
    await expect(cluster.kubectl(['get', 'pods'])).rejects.toThrow('connection refused');
    throw new Error('a request failed');
  };
  await expect(withoutApiServer(cluster, meanwhile)).rejects.toThrow('a request failed');
  const kubectl = 'kubectl --kubeconfig FOLDER/kubeconfig';
  const [running, aside] = [
    '/etc/kubernetes/manifests/kube-apiserver.yaml',
    '/etc/kubernetes/kube-apiserver.yaml',
  ];
  expect(told()).toEqual([
    `docker exec x-control-plane mv ${running} ${aside}`,
    `${kubectl} get --raw=/readyz --request-timeout=3s`,
    `${kubectl} get pods`,
    `docker exec x-control-plane mv ${aside} ${running}`,
    `${kubectl} get --raw=/readyz --request-timeout=3s`,
    `${kubectl} wait --for=condition=Ready node --all --timeout=3m`,
  ]);
  await cluster.delete();
});

test('the life of an installation has all its steps, in this order', async () => {
  const { cluster } = await paperCluster();
  const helm = { run: expect.fail, ok: expect.fail, [Symbol.asyncDispose]: async () => {} };
  const names = steps({ cluster, helm, image: 'model-gateway:e2e', previous }).map(({ name }) => name);
  const subjects = [
    'the chart of before installs',
    'the first request is answered',
    'an upgrade to this chart under load',
    'helm test passes',
    'a revoked key is refused within 2 s',
    'a changed Secret is used',
    'a rolling restart under load and 200 open streams',
    'a drained node under load',
    'with the API server stopped traffic flows on',
    'a killed leader is followed by another within 20 s',
    'uninstalling leaves definitions, nodes and keys',
  ];
  expect(names.map((name, at) => name.slice(0, subjects[at]?.length))).toEqual(subjects);
  await cluster.delete();
});

test('where Docker, kind and kubectl are missing it says so, and fails', async () => {
  const main = fileURLToPath(new URL('../../e2e/main.ts', import.meta.url));
  const { code, stdout, stderr } = await runToEnd(process.execPath, [main], {
    env: { PATH: '/nowhere' },
    timeoutMs: 60_000,
  });
  expect([code, stdout]).toEqual([1, '']);
  for (const what of ['docker', 'kind', 'kubectl'])
    expect(stderr).toMatch(new RegExp(`^e2e: there is no ${what} in PATH; `, 'm'));
  expect(stderr).toMatch(/^e2e: nothing was tested\.$/m);
});
