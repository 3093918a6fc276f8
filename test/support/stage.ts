import { type Caller, callerOf } from './caller.ts';
import { type Cluster, sharedCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { type RoleOptions, type RoleProcess, startRole } from './processes.ts';
import { type ResourceKind, type Resources, resourcesOf, type Stored } from './resources.ts';
import { type ScriptedUpstream, startUpstream, type UpstreamOptions } from './upstream.ts';

export interface StageOptions {
  /** Default: the control plane that all files share. */
  readonly cluster?: Cluster;
  /** Prefixes of the namespaces to make and serve; the first is the home namespace. */
  readonly namespaces: readonly string[];
  /** Default: one of each. */
  readonly roles?: readonly ('controller' | 'gateway')[];
  /** Called once the namespaces are there; answers the kubeconfig of each role. Default: the admin's. */
  readonly kubeconfigs?: (
    cluster: Cluster,
    namespaces: readonly string[],
  ) => Promise<{ readonly controller: string; readonly gateway: string }>;
  readonly logLevel?: RoleOptions['logLevel'];
  readonly flags?: { readonly controller?: readonly string[]; readonly gateway?: readonly string[] };
}

/** Namespaces of a test's own with the product running on them as processes of their own. */
export interface Stage extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly resources: Resources;
  /** The home namespace. */
  readonly home: string;
  readonly namespaces: readonly string[];
  readonly controllers: readonly RoleProcess[];
  readonly gateways: readonly RoleProcess[];
  /** Starts one more role, as the stage's own are started. */
  start(role: 'controller' | 'gateway', options?: Partial<RoleOptions>): Promise<RoleProcess>;
  /** Starts an upstream that ends with the stage. */
  upstream(options?: UpstreamOptions): Promise<ScriptedUpstream>;
  /** Starts an upstream and creates a node for it in the home namespace. */
  addNode(
    name: string,
    options?: { upstream?: UpstreamOptions; spec?: Record<string, unknown>; namespace?: string },
  ): Promise<ScriptedUpstream>;
  /** A caller at the first gateway, or at another one. */
  caller(key: string, gateway?: number): Caller;
  /** Waits until an object is as wanted, and answers it. */
  until(
    what: string,
    kind: ResourceKind,
    name: string,
    isSo: (object: Stored) => boolean,
    options?: { namespace?: string; timeoutMs?: number },
  ): Promise<Stored>;
}

/** Installs the CRDs, makes the namespaces, starts the roles and waits until they are ready. */
export async function startStage(options: StageOptions): Promise<Stage> {
  const cluster = options.cluster ?? sharedCluster();
  await cluster.applyCrds();
  const namespaces: string[] = [];
  for (const prefix of options.namespaces) namespaces.push(await cluster.newNamespace(prefix));
  const [home = ''] = namespaces;
  const kubeconfigs = await options.kubeconfigs?.(cluster, namespaces);
  const resources = resourcesOf(cluster);
  const controllers: RoleProcess[] = [];
  const gateways: RoleProcess[] = [];
  const upstreams: ScriptedUpstream[] = [];
  const started = { controller: 0, gateway: 0 };

  const stage: Stage = {
    cluster,
    resources,
    home,
    namespaces,
    controllers,
    gateways,
    async start(role, more = {}) {
      const all = role === 'controller' ? controllers : gateways;
      const process = await startRole(role, {
        kubeconfig: kubeconfigs?.[role] ?? cluster.address.kubeconfig,
        namespaces,
        podName: `${role}-${started[role]++}`,
        ...(options.logLevel === undefined ? {} : { logLevel: options.logLevel }),
        flags: options.flags?.[role] ?? [],
        ...more,
      });
      all.push(process);
      return process;
    },
    async upstream(upstreamOptions) {
      const upstream = await startUpstream(upstreamOptions);
      upstreams.push(upstream);
      return upstream;
    },
    async addNode(name, { upstream: upstreamOptions, spec = {}, namespace = home } = {}) {
      const upstream = await stage.upstream({ models: [`${name}-model`], ...upstreamOptions });
      await resources.create('UpstreamNode', namespace, name, { baseURL: upstream.url, ...spec });
      return upstream;
    },
    caller(key, gateway = 0) {
      const process = gateways[gateway];
      if (process === undefined) throw new Error(`the stage has no gateway ${gateway}`);
      return callerOf(process.baseURL(), key);
    },
    async until(what, kind, name, isSo, { namespace = home, timeoutMs = 30_000 } = {}) {
      let last: Stored | undefined;
      try {
        await eventually(
          what,
          async () => {
            last = await resources.get(kind, namespace, name);
            return isSo(last);
          },
          timeoutMs,
        );
      } catch (error) {
        throw new Error(`${what}: ${JSON.stringify(last?.status)}`, { cause: error });
      }
      if (last === undefined) throw new Error('never looked');
      return last;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...controllers, ...gateways].map((process) => process.stop('SIGKILL')));
      await Promise.all(upstreams.map((upstream) => upstream.stop()));
    },
  };
  try {
    const processes = await Promise.all(
      (options.roles ?? ['controller', 'gateway']).map((role) => stage.start(role)),
    );
    await Promise.all(processes.map((process) => process.whenReady()));
  } catch (error) {
    await stage[Symbol.asyncDispose]();
    throw error;
  }
  return stage;
}
