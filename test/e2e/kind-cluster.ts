import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run as runProgram } from './run.ts';

/** A kind cluster of three nodes, reached by a kubeconfig of its own. */
export interface KindCluster {
  readonly name: string;
  readonly kubeconfig: string;
  /** Origin that leads to the node port 30080 of the cluster. */
  readonly origin: string;
  /** Runs kubectl, with `input` as its standard input; answers stdout. @throws with what it said when it fails */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** The same with JSON read from stdout. */
  json(args: readonly string[]): Promise<unknown>;
  /** Runs a command on the node of the control plane; answers stdout. @throws with what it said when it fails */
  onControlPlane(command: readonly string[]): Promise<string>;
  /** Brings an image of this machine's Docker into every node. */
  loadImage(tag: string): Promise<void>;
  delete(): Promise<void>;
}

const nodePort = 30_080;
const createMs = 10 * 60_000;

/** Creates the cluster by kind and Docker; `folder` takes its files. @throws with what kind said */
export async function createKindCluster(
  name: string,
  folder: string,
  image: string | undefined,
  run: typeof runProgram = runProgram,
): Promise<KindCluster> {
  const kubeconfig = join(folder, 'kubeconfig');
  const config = join(folder, 'kind.json');
  await writeFile(
    config,
    JSON.stringify({
      kind: 'Cluster',
      apiVersion: 'kind.x-k8s.io/v1alpha4',
      nodes: [
        {
          role: 'control-plane',
          extraPortMappings: [{ containerPort: nodePort, hostPort: nodePort, listenAddress: '127.0.0.1' }],
        },
        { role: 'worker' },
        { role: 'worker' },
      ],
    }),
  );
  const create = ['create', 'cluster', '--name', name, '--config', config, '--kubeconfig', kubeconfig];
  await run('kind', [...create, '--wait', '5m', ...(image === undefined ? [] : ['--image', image])], {
    timeoutMs: createMs,
  });
  const kubectl: KindCluster['kubectl'] = (args, input) =>
    run('kubectl', ['--kubeconfig', kubeconfig, ...args], { input });
  return {
    name,
    kubeconfig,
    origin: `http://127.0.0.1:${nodePort}`,
    kubectl,
    json: async (args) => JSON.parse(await kubectl([...args, '-o', 'json'])) as unknown,
    onControlPlane: (command) => run('docker', ['exec', `${name}-control-plane`, ...command]),
    loadImage: async (tag) => void (await run('kind', ['load', 'docker-image', tag, '--name', name])),
    async delete() {
      await run('kind', ['delete', 'cluster', '--name', name, '--kubeconfig', kubeconfig]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
