import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Agent, request } from 'undici';
import type { ControlPlaneBinaries } from './binaries.ts';
import type { ControlPlaneCredentials } from './credentials.ts';
import type { ServerCommand } from './process.ts';

const startTimeoutMs = 90_000;
const issuer = 'https://kubernetes.default.svc';

/** etcd with one member. Its data need not survive a power cut, so it does not wait for the disk. */
export function etcdCommand(binaries: ControlPlaneBinaries, folder: string, port: number): ServerCommand {
  const url = `http://127.0.0.1:${port}`;
  return {
    name: 'etcd',
    binary: binaries.etcd,
    flags: {
      'data-dir': join(folder, 'etcd'),
      'listen-client-urls': url,
      'advertise-client-urls': url,
      'listen-peer-urls': 'http://127.0.0.1:0',
      'unsafe-no-fsync': 'true',
      // The default of 2 GB is soon full when a test changes 100,000 objects.
      'quota-backend-bytes': String(8 * 1024 ** 3),
    },
    logFile: join(folder, 'etcd.log'),
    timeoutMs: startTimeoutMs,
    ready: (signal) => answersOk(`${url}/health`, signal),
  };
}

export interface ApiServerParameters {
  binaries: ControlPlaneBinaries;
  folder: string;
  credentials: ControlPlaneCredentials;
  etcdURL: string;
  port: number;
  /** Carries the admin's certificate. */
  agent: Agent;
  watchCache?: boolean;
  apiServerFlags?: Record<string, string>;
  apiServerEnv?: Record<string, string>;
}

/** kube-apiserver with TLS only, RBAC, and service-account tokens that it signs itself. */
export function apiServerCommand(parameters: ApiServerParameters): ServerCommand {
  const { binaries, folder, credentials, etcdURL, port, agent } = parameters;
  return {
    name: 'kube-apiserver',
    binary: binaries.kubeApiserver,
    flags: {
      'bind-address': '127.0.0.1',
      'advertise-address': '127.0.0.1',
      'secure-port': String(port),
      // Nobody looks this server up in the cluster, and it refuses to publish a loopback address.
      'endpoint-reconciler-type': 'none',
      'etcd-servers': etcdURL,
      'cert-dir': join(folder, 'credentials'),
      'client-ca-file': credentials.caFile,
      'tls-cert-file': credentials.servingCertFile,
      'tls-private-key-file': credentials.servingKeyFile,
      'service-account-issuer': issuer,
      'service-account-key-file': credentials.serviceAccountPublicKeyFile,
      'service-account-signing-key-file': credentials.serviceAccountPrivateKeyFile,
      'authorization-mode': 'RBAC',
      'service-cluster-ip-range': '10.0.0.0/24',
      // The controller that makes each namespace's default ServiceAccount does not run here; without this no Pod is admitted.
      'disable-admission-plugins': 'ServiceAccount',
      ...(parameters.watchCache === false ? { 'watch-cache': 'false' } : {}),
      ...parameters.apiServerFlags,
    },
    env: parameters.apiServerEnv,
    logFile: join(folder, 'kube-apiserver.log'),
    timeoutMs: startTimeoutMs,
    ready: (signal) => answersOk(`https://127.0.0.1:${port}/readyz`, signal, agent),
  };
}

/** kube-controller-manager with garbage collection, namespace deletion and the controllers of `more`. */
export function controllersCommand(
  binaries: ControlPlaneBinaries,
  folder: string,
  kubeconfig: string,
  more: readonly string[] = [],
): ServerCommand {
  if (binaries.kubeControllerManager === undefined) {
    throw new Error(
      `kube-controller-manager is missing beside ${binaries.kubeApiserver}: the official download has it for Linux ` +
        'only; skip the test where hasControllerManager is false, or install Go and empty the cache folder',
    );
  }
  const logFile = join(folder, 'kube-controller-manager.log');
  return {
    name: 'kube-controller-manager',
    binary: binaries.kubeControllerManager,
    flags: {
      kubeconfig,
      controllers: ['garbage-collector-controller', 'namespace-controller', ...more].join(','),
      'root-ca-file': join(folder, 'credentials', 'ca.crt'),
      'leader-elect': 'false',
      'secure-port': '0',
    },
    logFile,
    timeoutMs: startTimeoutMs,
    ready: async () => readFileSync(logFile, 'utf8').includes('Proceeding to collect garbage'),
  };
}

async function answersOk(url: string, signal: AbortSignal, dispatcher?: Agent): Promise<boolean> {
  const { statusCode, body } = await request(url, { signal, ...(dispatcher ? { dispatcher } : {}) });
  await body.dump();
  return statusCode === 200;
}
