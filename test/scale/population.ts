import { hashKeyText, keyHint } from '../../src/resources/key-text.ts';
import type { Cluster } from '../support/cluster.ts';
import { resourcePathOf } from '../support/resources.ts';

/** How much one namespace of the measurements holds. */
export interface SetSize {
  readonly keys: number;
  readonly nodes: number;
  readonly modelsPerNode: number;
}

const atOnce = 32;

/** Name of the namespace that holds a set. */
export function namespaceOf({ keys, nodes }: SetSize): string {
  return `scale-${keys}-${nodes}`;
}

/** The caller's text of key `index`: made up, so that nobody has to keep 100,000 of them. */
export function keyText(index: number): string {
  return `key-of-the-scale-measurement-number-${String(index).padStart(7, '0')}`;
}

export function keyName(index: number): string {
  return `key-${String(index).padStart(7, '0')}`;
}

/** Address of a node: each has a host of its own, as real ones do, because contacts are bounded by host. */
function nodeHost({ nodes }: SetSize, index: number): string {
  return `${hostsOf({ nodes })}${Math.floor(index / 250)}.${(index % 250) + 1}`;
}

/** What the hosts of a set begin with. */
export function hostsOf({ nodes }: Pick<SetSize, 'nodes'>): string {
  return `127.${70 + String(nodes).length}.`;
}

/** Number of the node with that host. */
export function nodeIndexOf(host: string): number {
  const [, , high = 0, low = 1] = host.split('.').map(Number);
  return high * 250 + low - 1;
}

/** Half of a node's models are its own, half are served by ten nodes: both a long and a wide index. */
export function modelNames(node: number, count: number): string[] {
  return Array.from({ length: count }, (_, model) =>
    model % 2 === 0
      ? `vendor-${node}/model-${model}-instruct`
      : `shared-${Math.floor(node / 10)}/model-${model}-chat`,
  );
}

/** A key as `/v1/keys` makes one. */
export function keyBody(index: number): object {
  const text = keyText(index);
  const labels = { 'app.kubernetes.io/created-by': 'scale' };
  const spec = { displayName: `Key ${index}`, hash: hashKeyText(text), hint: keyHint(text) };
  return body('APIKey', { name: keyName(index), labels }, spec);
}

export function nodeName(index: number): string {
  return `node-${String(index).padStart(4, '0')}`;
}

export function nodeBody(size: SetSize, index: number, port: number): object {
  const spec = { baseURL: `http://${nodeHost(size, index)}:${port}/v1` };
  return body('UpstreamNode', { name: nodeName(index) }, spec);
}

/** Creates the namespace and everything in it, many at a time. @throws what the API server refuses */
export async function populate(
  cluster: Cluster,
  size: SetSize,
  namespace: string,
  port: number,
): Promise<void> {
  await cluster.client.send('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } });
  const nodes = resourcePathOf('UpstreamNode', namespace);
  await eachOf(size.nodes, (index) =>
    cluster.client.ask('POST', nodes, { body: nodeBody(size, index, port) }),
  );
  const keys = resourcePathOf('APIKey', namespace);
  await eachOf(size.keys, (index) => cluster.client.ask('POST', keys, { body: keyBody(index) }));
}

/** Does something for the numbers from 0 to `count`, some at a time. */
export async function eachOf(
  count: number,
  action: (index: number) => Promise<unknown>,
  workers = atOnce,
): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) await action(next++);
  };
  await Promise.all(Array.from({ length: Math.min(workers, count) }, work));
}

function body(kind: string, metadata: object, spec: object): object {
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata, spec };
}
