import { fillFolder } from '../fill-folder.ts';
import { fromCache, programsIn } from '../from-cache.ts';
import type { Guard } from '../guard.ts';
import { buildControlPlane, pinnedVersions } from './build.ts';
import { downloadControlPlane } from './download.ts';

/** Paths of the programs that make up a control plane. The controller manager is optional: the official
 * download has it for Linux only. */
export interface ControlPlaneBinaries {
  kubeApiserver: string;
  etcd: string;
  kubectl: string;
  kubeControllerManager?: string;
}

const leaveOutVariable = 'MODEL_GATEWAY_TEST_WITHOUT_API_SERVER';
const versionVariable = 'MODEL_GATEWAY_TEST_KUBERNETES';
const lockTimeoutMs = 40 * 60_000;

/** Gets the binaries into the empty folder `staging`, and returns the folder inside it (or itself) that holds them. */
type Way = (staging: string, guard: Guard, say: (line: string) => void) => Promise<string>;

/** True when the person running the tests has asked to leave out those that need an API server. */
export function apiServerTestsLeftOut(env: NodeJS.ProcessEnv = process.env): boolean {
  const value = env[leaveOutVariable] ?? '';
  return value !== '' && value !== '0' && value !== 'false';
}

/**
 * The version of Kubernetes to test against: the one that `MODEL_GATEWAY_TEST_KUBERNETES` names (1.30 or 1.30.14), else
 * the pinned one.
 * @throws when the variable holds something else
 */
export function wantedKubernetes(env: NodeJS.ProcessEnv = process.env): string {
  const asked = env[versionVariable] ?? '';
  if (asked === '') return pinnedVersions().kubernetes;
  if (/^v?1\.\d+(?:\.\d+)?$/.test(asked)) return `v${asked.replace(/^v/, '')}`;
  throw new Error(`${versionVariable}=${asked}: write a version such as 1.30, or unset the variable`);
}

/** Its minor version, for what older servers do otherwise. */
export function kubernetesMinor(): number {
  return Number(wantedKubernetes().split('.')[1]);
}

/**
 * Finds, downloads or builds the control plane. In this order: the folder that `KUBEBUILDER_ASSETS` names; what an
 * earlier run left in the user's cache folder; the official download; a build from Go modules (about 5 minutes on two
 * cores, once). The download goes first because it takes seconds where it works and is refused at once where not.
 *
 * @throws with a text that names all ways when none of them works.
 */
export async function controlPlaneBinaries(
  env: NodeJS.ProcessEnv = process.env,
  say: (line: string) => void = (line) => process.stderr.write(`control plane: ${line}\n`),
  ways: readonly Way[] = [downloadOf(env), buildOf(env)],
): Promise<ControlPlaneBinaries> {
  const assets = env['KUBEBUILDER_ASSETS'];
  if (assets !== undefined && assets !== '') {
    const found = await binariesIn(assets);
    if (found !== undefined) return found;
    throw new Error(
      `KUBEBUILDER_ASSETS=${assets}: this folder lacks kube-apiserver, etcd or kubectl; correct the variable or unset it`,
    );
  }
  return fromCache(
    {
      name: cacheName(env),
      find: binariesIn,
      get: (folder) => fillCache(folder, say, ways),
      onWait: () => say('another process is fetching or building it; waiting (up to 5 minutes)…'),
      timeoutMs: lockTimeoutMs,
    },
    env,
  );
}

/** The name in the cache of the binaries of the pinned versions: one folder for each set of versions and platform. */
export function cacheName(env: NodeJS.ProcessEnv = process.env): string {
  const { etcd } = pinnedVersions();
  return `control-plane/kubernetes-${wantedKubernetes(env)}-etcd-${etcd}-${process.platform}-${process.arch}`;
}

async function fillCache(folder: string, say: (line: string) => void, ways: readonly Way[]): Promise<void> {
  const failures: string[] = [];
  for (const way of ways) {
    try {
      await fillFolder(folder, (staging, guard) => way(staging, guard, say));
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
      continue;
    }
    if ((await binariesIn(folder)) !== undefined) return;
  }
  throw new Error(noWayText(failures));
}

function downloadOf(env: NodeJS.ProcessEnv): Way {
  return (staging, _guard, say) =>
    downloadControlPlane(staging, wantedKubernetes(env), say).catch((error: unknown) => {
      throw new Error(`the official download failed: ${withCause(error)}`);
    });
}

function buildOf(env: NodeJS.ProcessEnv): Way {
  return async (staging, guard, say) => {
    const { kubernetes } = pinnedVersions();
    const wanted = wantedKubernetes(env);
    if (wanted !== kubernetes && !kubernetes.startsWith(`${wanted}.`)) {
      throw new Error(`only Kubernetes ${kubernetes} can be built from Go modules, not ${wanted}`);
    }
    say(`building Kubernetes ${kubernetes} and etcd from source, once: about 5 minutes on two cores…`);
    try {
      await buildControlPlane(staging, guard, say);
      return staging;
    } catch (error) {
      throw new Error(`the build from Go modules failed: ${withCause(error)}`);
    }
  };
}

async function binariesIn(folder: string): Promise<ControlPlaneBinaries | undefined> {
  const required = await programsIn(folder, ['kube-apiserver', 'etcd', 'kubectl']);
  if (required === undefined) return undefined;
  const { 'kube-apiserver': kubeApiserver, etcd, kubectl } = required;
  const manager = (await programsIn(folder, ['kube-controller-manager']))?.['kube-controller-manager'];
  return {
    ...{ kubeApiserver, etcd, kubectl },
    ...(manager === undefined ? {} : { kubeControllerManager: manager }),
  };
}

function withCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

function noWayText(failures: readonly string[]): string {
  const { kubernetes, etcd } = pinnedVersions();
  return [
    'The cluster tests need a Kubernetes API server, and there was no way to get one. What was tried:',
    ...failures.map((failure) => `  - ${failure}`),
    'Do one of these, then run the tests again:',
    `  1. Set KUBEBUILDER_ASSETS to a folder that holds kube-apiserver, etcd and kubectl (Kubernetes ${kubernetes}).`,
    '  2. Allow HTTPS to raw.githubusercontent.com and github.com: the official binaries are then downloaded.',
    `  3. Install Go 1.26 or newer: Kubernetes ${kubernetes} and etcd ${etcd} are then built from Go modules.`,
    `To run without these tests, set ${leaveOutVariable}=1; the last line then says how many were left out.`,
  ].join('\n');
}
