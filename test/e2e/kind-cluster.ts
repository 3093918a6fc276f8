import { spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

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
  /** Brings an image of this machine's Docker into every node. */
  loadImage(tag: string): Promise<void>;
  delete(): Promise<void>;
}

const nodePort = 30_080;
const createMs = 10 * 60_000;
const commandMs = 6 * 60_000;

/** Creates the cluster; `folder` takes its files. @throws with what kind said */
export async function createKindCluster(
  name: string,
  folder: string,
  image: string | undefined,
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
    loadImage: async (tag) => void (await run('kind', ['load', 'docker-image', tag, '--name', name])),
    async delete() {
      await run('kind', ['delete', 'cluster', '--name', name, '--kubeconfig', kubeconfig]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs a program to its end; answers stdout. @throws with the end of what it wrote when it fails */
export function run(
  command: string,
  args: readonly string[],
  options: { input?: string | undefined; timeoutMs?: number } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: process.env,
      timeout: options.timeoutMs ?? commandMs,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let all = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      all += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      all += text;
    });
    // It may end without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(stdout);
      else
        reject(new Error(`${command} ${args.join(' ')} ended with ${code ?? signal}:\n${all.slice(-3000)}`));
    });
  });
}
