import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { type ControlPlaneBinaries, controlPlaneBinaries } from './control-plane/binaries.ts';
import { apiServerCommand, controllersCommand, etcdCommand } from './control-plane/commands.ts';
import { makeCredentials, writeAdminKubeconfig } from './control-plane/credentials.ts';
import { type ServerProcess, startServer, withFreePort } from './control-plane/process.ts';
import { compactEtcd } from './etcd-compaction.ts';
import { startGuard } from './guard.ts';
import { runKubectl } from './kubectl.ts';
import type { Ended } from './run-to-end.ts';

/** Where a control plane is; plain data, so that it can be handed to test workers. */
export interface ControlPlaneAddress {
  /** Path of the admin's kubeconfig. */
  kubeconfig: string;
  /** `https://127.0.0.1:<port>` */
  url: string;
  /** PEM certificate of the authority that signed the server's certificate. */
  ca: string;
  /** Path of a kubectl of the server's own version. */
  kubectlBinary: string;
  /** Private temporary folder, removed with the control plane; tests may put kubeconfigs here. */
  folder: string;
}

/** A kube-apiserver with its etcd, on loopback. No kubelet, no scheduler, no controllers unless started. */
export interface ControlPlane extends ControlPlaneAddress, AsyncDisposable {
  /** Ends all of it and removes its data. */
  stop(): Promise<void>;
  /** Ends the API server and keeps its data. SIGKILL (the default) cuts connections as a lost machine does. */
  stopApiServer(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again with the same address, certificates, signing keys and data. */
  startApiServer(): Promise<void>;
  /**
   * Makes etcd forget all history before now, and returns the revision up to which. A running API server still answers
   * older watches from its own cache: for a 410 also restart it, or start the control plane with `watchCache: false`.
   */
  compactEtcd(): Promise<number>;
  /** Process ids, for measuring. */
  processIds(): { readonly etcd: number; readonly apiServer: number };
  /** Origin of etcd's own metrics. */
  readonly etcdURL: string;
  /** Ends etcd and the API server for a moment and copies etcd's data to a folder: a backup. */
  backUp(folder: string): Promise<void>;
  /** Puts a backup in the place of etcd's data. Versions go back to what they were then; the address stays. */
  restore(folder: string): Promise<void>;
  /** Ends the servers in order and copies etcd's data to a folder, which `etcdData` of a later start takes. */
  stopAndKeepData(folder: string): Promise<void>;
  /** False where the binaries lack it: skip the test, saying so. */
  readonly hasControllerManager: boolean;
  /**
   * Starts garbage collection and namespace deletion, and the controllers of these names. Resolves when the first two
   * run. @throws when the binaries lack it.
   */
  startControllerManager(controllers?: readonly string[]): Promise<void>;
  kubectl(kubectlArguments: readonly string[], input?: string): Promise<Ended>;
}

export interface ControlPlaneOptions {
  binaries?: ControlPlaneBinaries;
  /** False: watches are served from etcd itself, so that `compactEtcd` expires them at once. */
  watchCache?: boolean;
  /** More flags for kube-apiserver, without the leading dashes. */
  apiServerFlags?: Record<string, string>;
  /** More of the environment of kube-apiserver, such as Go's settings. */
  apiServerEnv?: Record<string, string>;
  /** A folder with the data of an earlier control plane (`stopAndKeepData`) to begin with; it is copied. */
  etcdData?: string;
}

/**
 * Starts a control plane of its own on free loopback ports (about 4 seconds). It ends with this process at the latest,
 * however that ends.
 *
 * @throws when the binaries cannot be had or a server does not start, with the end of its log.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = options.binaries ?? (await controlPlaneBinaries());
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-control-plane-'));
  const guard = startGuard();
  guard.watchFolder(folder);
  const running: { etcd?: ServerProcess; apiServer?: ServerProcess; controllers?: ServerProcess } = {};
  const endServers = async () => {
    await Promise.all([running.controllers, running.apiServer].map((server) => server?.stop('SIGKILL')));
    await running.etcd?.stop('SIGKILL');
  };
  try {
    const credentials = await makeCredentials(join(folder, 'credentials'));
    const dataFolder = join(folder, 'etcd');
    if (options.etcdData !== undefined) await cp(options.etcdData, dataFolder, { recursive: true });
    const startEtcd = async (port: number) => {
      running.etcd = await startServer(etcdCommand(binaries, folder, port), guard);
      return port;
    };
    const etcdPort = await withFreePort(startEtcd);
    const etcdURL = `http://127.0.0.1:${etcdPort}`;
    const { ca, adminCert, adminKey } = credentials;
    const agent = new Agent({ connect: { ca, cert: adminCert, key: adminKey } });
    const startApiServer = async (port: number) => {
      const command = apiServerCommand({ binaries, folder, credentials, etcdURL, port, agent, ...options });
      running.apiServer = await startServer(command, guard);
      return port;
    };
    const port = await withFreePort(startApiServer);
    const url = `https://127.0.0.1:${port}`;
    const kubeconfig = await writeAdminKubeconfig(folder, url, credentials);
    const address = { kubeconfig, url, ca, kubectlBinary: binaries.kubectl, folder };
    const whileDown = async (work: () => Promise<void>) => {
      await running.apiServer?.stop('SIGTERM');
      await running.etcd?.stop('SIGTERM');
      await work();
      await startEtcd(etcdPort);
      await startApiServer(port);
    };
    const stop = async () => {
      await endServers();
      await agent.destroy();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      guard.release();
    };
    return {
      ...address,
      etcdURL,
      processIds: () => ({ etcd: running.etcd?.pid ?? 0, apiServer: running.apiServer?.pid ?? 0 }),
      backUp: (target) => whileDown(() => cp(dataFolder, target, { recursive: true })),
      restore: (source) =>
        whileDown(async () => {
          await rm(dataFolder, { recursive: true });
          await cp(source, dataFolder, { recursive: true });
        }),
      stopAndKeepData: async (target) => {
        await running.apiServer?.stop('SIGTERM');
        await running.etcd?.stop('SIGTERM');
        await cp(dataFolder, target, { recursive: true });
        await stop();
      },
      hasControllerManager: binaries.kubeControllerManager !== undefined,
      stop,
      [Symbol.asyncDispose]: stop,
      stopApiServer: async (signal = 'SIGKILL') => running.apiServer?.stop(signal),
      startApiServer: async () => {
        await running.apiServer?.stop('SIGKILL');
        await startApiServer(port);
      },
      compactEtcd: () => compactEtcd(etcdURL),
      startControllerManager: async (controllers) => {
        await running.controllers?.stop('SIGKILL');
        const command = controllersCommand(binaries, folder, kubeconfig, controllers);
        running.controllers = await startServer(command, guard);
      },
      kubectl: (kubectlArguments, input) => runKubectl(address, kubectlArguments, input),
    };
  } catch (error) {
    await endServers();
    await rm(join(folder, 'credentials'), { recursive: true, force: true });
    // The logs stay: they explain the failure.
    guard.keepFolder(folder);
    guard.release();
    throw error;
  }
}
