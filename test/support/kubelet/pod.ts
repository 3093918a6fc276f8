/** A Pod as the API server answers it, as far as this kubelet understands it. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly generation?: number;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
    readonly securityContext?: SecurityContext;
    readonly containers: readonly Container[];
    readonly initContainers?: readonly unknown[];
    readonly volumes?: readonly Volume[];
  };
  readonly status?: { readonly phase?: string; readonly startTime?: string };
}

interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvironmentVariable[];
  readonly envFrom?: readonly unknown[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly securityContext?: SecurityContext;
  readonly volumeMounts?: readonly VolumeMount[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: { readonly resource: string };
    readonly secretKeyRef?: Entry;
    readonly configMapKeyRef?: Entry;
  };
}

interface Entry {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface Probe {
  readonly httpGet?: { readonly path?: string; readonly port: number | string; readonly scheme?: string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
  readonly successThreshold: number;
}

interface Items {
  readonly items?: readonly { readonly key: string; readonly path: string }[];
  readonly optional?: boolean;
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly secret?: Items & { readonly secretName: string };
  readonly configMap?: Items & { readonly name: string };
  readonly projected?: { readonly sources: readonly ProjectedSource[] };
}

export interface ProjectedSource {
  readonly serviceAccountToken?: {
    readonly path: string;
    readonly audience?: string;
    readonly expirationSeconds?: number;
  };
  readonly configMap?: Items & { readonly name: string };
  readonly secret?: Items & { readonly name: string };
  readonly downwardAPI?: {
    readonly items: readonly { readonly path: string; readonly fieldRef?: { readonly fieldPath: string } }[];
  };
}

/**
 * What a manifest may say and this kubelet would leave undone: an empty list when there is nothing. A test that passed
 * because something rendered was ignored would prove nothing.
 */
export function notUnderstood({ spec }: Pod): string[] {
  const found: string[] = [];
  if (spec.containers.length !== 1) found.push(`${spec.containers.length} containers`);
  if ((spec.initContainers ?? []).length > 0) found.push('initContainers');
  for (const container of spec.containers) {
    if ((container.envFrom ?? []).length > 0) found.push('envFrom');
    for (const kind of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const) {
      const probe = container[kind];
      if (probe !== undefined && probe.httpGet === undefined) found.push(`${kind} without httpGet`);
    }
    for (const [name, hook] of Object.entries(container.lifecycle ?? {})) {
      if (name !== 'preStop' || hook?.sleep === undefined) found.push(`lifecycle.${name} without sleep`);
    }
    for (const { valueFrom } of container.env ?? []) {
      if (valueFrom?.resourceFieldRef !== undefined) found.push('resourceFieldRef');
    }
    for (const { subPath, name } of container.volumeMounts ?? []) {
      if (subPath !== undefined) found.push(`subPath of volume ${name}`);
    }
  }
  for (const volume of spec.volumes ?? []) {
    const known = ['emptyDir', 'secret', 'configMap', 'projected'];
    const kind = Object.keys(volume).find((field) => field !== 'name') ?? 'none';
    if (!known.includes(kind)) found.push(`volume ${volume.name} of kind ${kind}`);
  }
  return found;
}

/** A field by its path, as the downward API knows it: `metadata.name`, `metadata.labels['x']`, `status.podIP`. */
export function podField(pod: Pod, podIP: string, path: string): string {
  const inMap = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (inMap !== null) {
    return (inMap[1] === 'labels' ? pod.metadata.labels : pod.metadata.annotations)?.[inMap[2] ?? ''] ?? '';
  }
  const fields: Record<string, string | undefined> = {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace,
    'metadata.uid': pod.metadata.uid,
    'spec.nodeName': pod.spec.nodeName,
    'spec.serviceAccountName': pod.spec.serviceAccountName,
    'status.podIP': podIP,
    'status.hostIP': '127.0.0.1',
  };
  const value = fields[path];
  if (value === undefined) throw new Error(`this kubelet knows no field ${path}`);
  return value;
}
