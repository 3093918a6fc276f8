import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cachedFolder } from '../support/cached-folder.ts';
import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { startRole } from '../support/processes.ts';
import { gauge } from './metric-text.ts';
import { keyBody, modelNames, namespaceOf, nodeBody, populate, type SetSize } from './population.ts';
import { startUpstreams } from './upstreams.ts';

/** Fixed, because it stands in the addresses of nodes that were prepared by an earlier run. */
export const preparedPort = 23_117;
const prepareMs = 1_800_000;
/**
 * With Go's own setting a third of the API server's processor goes into collecting a heap of 4 GB of cached objects, again
 * each time as much was allocated. Whoever runs it for so many objects has the memory.
 */
const apiServerEnv = { GOGC: '400', GOMEMLIMIT: '14GiB' };

/**
 * Starts a control plane that holds these sets, as a controller has left them: every node synced, every key with its
 * status. They are made once and kept in the user's cache folder, by the CRDs and by what makes them.
 */
export async function startPreparedCluster(
  sizes: readonly SetSize[],
  progress: (line: string) => void,
): Promise<ControlPlane> {
  const name = `scale-${hashOf(sizes)}`;
  const etcdData = await cachedFolder(name, prepareMs, (folder) => prepare(sizes, folder, progress));
  progress(`starting an API server with the data of ${name}`);
  const controlPlane = await startControlPlane({ etcdData, apiServerEnv });
  const seconds = await warmUp(controlPlane);
  progress(`the API server has read its data after ${seconds.toFixed(0)} s`);
  return controlPlane;
}

/** Lets the API server fill its watch caches, which it does when it is first asked: production's has done so long ago. */
async function warmUp(controlPlane: ControlPlane): Promise<number> {
  const { client } = clusterAt(controlPlane);
  const began = performance.now();
  const group = '/apis/modelgateway.dev/v1alpha1';
  for (const plural of ['upstreamnodes', 'apikeys', 'masterkeys']) {
    const path = `${group}/namespaces/none/${plural}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2`;
    await eventually(
      `the API server watches ${plural}`,
      async () => {
        const { status, body } = await client.send('GET', path, { timeoutMs: 120_000 });
        return status === 200 && JSON.stringify(body).includes('initial-events-end');
      },
      300_000,
      500,
    );
  }
  return (performance.now() - began) / 1000;
}

async function prepare(sizes: readonly SetSize[], folder: string, progress: (line: string) => void) {
  progress('making the objects, once; later runs begin with a copy of them');
  const [{ modelsPerNode } = { modelsPerNode: 0 }] = sizes;
  const upstreams = await startUpstreams(preparedPort, modelsPerNode);
  const controlPlane = await startControlPlane();
  try {
    const cluster = clusterAt(controlPlane);
    await cluster.applyCrds();
    for (const size of sizes) {
      const namespace = namespaceOf(size);
      const began = performance.now();
      const seconds = () => ((performance.now() - began) / 1000).toFixed(0);
      await populate(cluster, size, namespace, upstreams.port);
      progress(`${size.keys} keys and ${size.nodes} nodes created in ${seconds()} s`);
      await haveStatuses(controlPlane.kubeconfig, namespace, size);
      progress(`${size.keys} keys and ${size.nodes} nodes have their statuses after ${seconds()} s`);
    }
    await controlPlane.stopAndKeepData(folder);
  } finally {
    upstreams.stop();
    await controlPlane.stop();
  }
}

/** Lets a controller work until everything in a namespace is ready. */
export async function haveStatuses(kubeconfig: string, namespace: string, size: SetSize): Promise<void> {
  const controller = await startRole('controller', { kubeconfig, namespaces: [namespace] });
  try {
    const ready = (text: string, kind: string) =>
      gauge(text, 'modelgateway_resources', { kind, ready: 'True' });
    await eventually(
      `everything in ${namespace} is ready`,
      async () => {
        const { body } = await controller.probe('/metrics');
        return ready(body, 'APIKey') === size.keys && ready(body, 'UpstreamNode') === size.nodes;
      },
      prepareMs,
      1_000,
    );
  } finally {
    await controller.stop('SIGTERM');
  }
}

function hashOf(sizes: readonly SetSize[]): string {
  const crds = fileURLToPath(new URL('../../crds/', import.meta.url));
  const texts = [
    ...readdirSync(crds)
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => readFileSync(crds + file, 'utf8')),
    ...sizes.map((size) =>
      JSON.stringify([size, keyBody(1), nodeBody(size, 1, preparedPort), modelNames(1, 2)]),
    ),
  ];
  return createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 16);
}
