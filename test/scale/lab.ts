import { fileURLToPath } from 'node:url';
import type { Cluster } from '../support/cluster.ts';
import { imageFlags, imageOptions } from '../support/image-flags.ts';
import { type RoleOptions, type RoleProcess, startRole } from '../support/processes.ts';
import type { ScaleOptions } from './options.ts';
import { namespaceOf, type SetSize } from './population.ts';
import type { Upstreams } from './upstreams.ts';

/** The servers of the cluster, for measuring what is asked of them. */
export interface Servers {
  readonly etcd: number;
  readonly apiServer: number;
  readonly etcdURL: string;
}

/** What rows measure: a cluster that holds the sets, and the model servers of their nodes. */
export interface Lab {
  readonly options: ScaleOptions;
  readonly cluster: Cluster;
  /** Undefined where the cluster is shared with others. */
  readonly servers: Servers | undefined;
  readonly upstreams: Upstreams;
  /** The namespace that holds a set. */
  namespace(size: SetSize): string;
  /** Starts a role on one namespace, of another server where a kubeconfig of it is given; whoever starts it stops it. */
  start(role: 'controller' | 'gateway', namespace: string, kubeconfig?: string): Promise<RoleProcess>;
  /** Writes one line about what is going on. */
  progress(line: string): void;
}

const results = fileURLToPath(new URL('./results/', import.meta.url));
const compileCache = fileURLToPath(new URL('../../node_modules/.compile-cache', import.meta.url));

export function labOf(
  parts: Pick<Lab, 'options' | 'cluster' | 'servers' | 'upstreams'> & {
    readonly namespaceSuffix?: string;
    /** How roles are started as pods have them; absent: with the admin's kubeconfig. */
    readonly pod?: Pick<RoleOptions, 'under' | 'env'> | undefined;
  },
): Lab {
  const { options, cluster, namespaceSuffix = '', pod } = parts;
  return {
    ...parts,
    namespace: (size) => namespaceOf(size) + namespaceSuffix,
    start: (role, namespace, kubeconfig = pod === undefined ? cluster.address.kubeconfig : undefined) =>
      startRole(role, {
        ...(kubeconfig === undefined ? { under: pod?.under ?? [] } : { kubeconfig }),
        namespaces: [namespace],
        nodeFlags: imageFlags,
        // As in the image, where nothing is compiled at the start.
        env: {
          ...(kubeconfig === undefined ? pod?.env : {}),
          NODE_COMPILE_CACHE: compileCache,
          NODE_OPTIONS: [imageOptions, ...profiled(options.profile, `${role}-${namespace}`)].join(' '),
        },
      }),
    progress: (line) => process.stderr.write(`scale: ${line}\n`),
  };
}

function profiled(wanted: boolean, name: string): readonly string[] {
  return wanted ? ['--cpu-prof', `--cpu-prof-dir=${results}`, `--cpu-prof-name=${name}.cpuprofile`] : [];
}
