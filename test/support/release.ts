import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type ApiClient, apiClient } from './api-client.ts';
import { type Caller, callerOf } from './caller.ts';
import { chartFolder } from './chart.ts';
import { type Helm, startHelm } from './helm.ts';
import { type ClusterWithPods, startClusterWithPods } from './kubelet/cluster-with-pods.ts';
import type { RunningPod } from './kubelet/run-pod.ts';
import { isolates } from './kubelet/sandbox.ts';
import { type Resources, resourcesOf } from './resources.ts';
import type { Ended } from './run-to-end.ts';

export type Pod = RunningPod & { readonly name: string };

/** Helm with a cluster whose pods run, and what tests of releases ask of both. */
export interface ReleaseStage extends AsyncDisposable, ClusterWithPods {
  readonly helm: Helm;
  readonly resources: Resources;
  /** `helm install|upgrade NAME CHART --wait`; `chart` is a folder or a package, by default the product's chart. */
  release(verb: 'install' | 'upgrade', of: ReleaseOptions): Promise<Ended>;
  /** The pods of one role of a release, oldest first. */
  pods(role: 'gateway' | 'controller', of?: { name?: string; namespace?: string }): Pod[];
  /** The API server as a pod reaches it: with the token that lies in the pod. */
  asPod(pod: Pod | undefined): Promise<ApiClient>;
  /** A caller at a pod; without one at the release's Service. */
  caller(key: string, pod?: Pod): Caller;
}

export interface ReleaseOptions {
  /** Default `mg`. */
  readonly name?: string;
  /** Default `models`; made where it is not there. */
  readonly namespace?: string;
  readonly values?: object;
  readonly chart?: string;
  /** Default 90. */
  readonly timeoutSeconds?: number;
  /** More flags. */
  readonly flags?: readonly string[];
}

/** The port of the release's Service; only root may listen on the chart's own default, 80. */
const servicePort = isolates ? 80 : 8080;

/** What every release here needs: upstreams of tests are on loopback. */
const testValues = {
  gateway: {
    extraArgs: ['--allow-loopback-upstreams'],
    service: isolates ? {} : { port: servicePort },
  },
  controller: { extraArgs: ['--allow-loopback-upstreams'] },
};

/** Starts Helm and a cluster with pods, with one test file's lifetime. */
export async function startReleaseStage(
  options: Parameters<typeof startClusterWithPods>[0] = {},
): Promise<ReleaseStage> {
  const alive = await startClusterWithPods(options);
  const helm = await startHelm(alive.plane.kubeconfig);
  return {
    ...alive,
    helm,
    resources: resourcesOf(alive.cluster),
    release(verb, of) {
      const { name = 'mg', namespace = 'models', values = {}, chart = chartFolder, flags = [] } = of;
      const seconds = of.timeoutSeconds ?? 90;
      return helm.run(
        [
          ...[verb, name, chart, '--namespace', namespace, '--wait', '--timeout', `${seconds}s`],
          ...(verb === 'install' ? ['--create-namespace'] : []),
          ...['--values', '-', ...flags],
        ],
        JSON.stringify(merged(testValues, values)),
      );
    },
    pods: (role, { name = 'mg', namespace = 'models' } = {}) =>
      alive.kubelet.pods(namespace, `${name}-model-gateway-${role}-`),
    async asPod(pod) {
      if (pod === undefined) throw new Error('there is no such pod');
      const token = await tokenOf(pod);
      const file = join(alive.plane.folder, `pod-${randomBytes(6).toString('hex')}.kubeconfig`);
      await writeFile(file, stringify({ users: [{ user: { token } }] }), { mode: 0o600 });
      return apiClient({ ...alive.plane, kubeconfig: file });
    },
    caller(key, pod) {
      const address = alive.kubelet.services.address('models', 'mg-model-gateway', servicePort);
      return callerOf(pod === undefined ? `http://${address}/v1` : `http://${pod.podIP}:8080/v1`, key);
    },
    async [Symbol.asyncDispose]() {
      await helm[Symbol.asyncDispose]();
      await alive[Symbol.asyncDispose]();
    },
  };
}

/** The ServiceAccount token that a pod has at this moment. @throws when it has none */
async function tokenOf(pod: Pod): Promise<string> {
  const volumes = join(pod.folder, 'volumes');
  for (const name of await readdir(volumes)) {
    const token = await readFile(join(volumes, name, 'token'), 'utf8').catch(() => undefined);
    if (token !== undefined) return token;
  }
  throw new Error(`${pod.name} has no token`);
}

/** `over` wins, object by object; lists are taken whole. */
function merged(under: object, over: object): object {
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const result: Record<string, unknown> = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const known = result[name];
    result[name] = isObject(known) && isObject(value) ? merged(known, value) : value;
  }
  return result;
}
