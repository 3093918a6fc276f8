import { z } from 'zod';
import { logFormats, logLevels } from '../../src/observe/log.ts';
import type { Crd } from '../../src/resources/crd.ts';
import type { JsonSchema } from '../../src/resources/json-schema.ts';

// What the values of the chart may be. Unknown names are refused at every level that is ours; what is handed on to
// Kubernetes as it stands is judged there.

/** An object of the values: every member has a default in values.yaml, so none is required. */
const group = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).partial();

const text = z.string();
const flag = z.boolean();
const texts = z.array(z.string());
const textMap = z.record(z.string(), z.string());
/** Part of a Kubernetes object, as it stands there. */
const part = z.record(z.string(), z.unknown());
const parts = z.array(part);
const whole = (least: number, most: number) => z.int().min(least).max(most);
const orNull = (schema: z.ZodType) => schema.nullable();
const namespaceName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const duration = z.string().regex(/^([0-9]+(ms|s|m|h))*$/);
const resourceName = z.string().regex(/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/);

const probe = orNull(
  group({
    initialDelaySeconds: whole(0, 3600),
    periodSeconds: whole(1, 3600),
    timeoutSeconds: whole(1, 3600),
    failureThreshold: whole(1, 1000),
    successThreshold: whole(1, 1000),
    terminationGracePeriodSeconds: whole(1, 3600),
  }),
);

const role = {
  replicas: whole(0, 1000),
  heapPercentage: whole(10, 90),
  resources: group({ requests: part, limits: part, claims: parts }),
  serviceAccount: group({ create: flag, name: text, annotations: textMap }),
  podDisruptionBudget: group({
    enabled: flag,
    maxUnavailable: z.union([whole(0, 1000), z.string().regex(/^[0-9]{1,3}%$/)]),
  }),
  topologySpread: flag,
  topologySpreadConstraints: parts,
  podLabels: textMap,
  podAnnotations: textMap,
  priorityClassName: text,
  nodeSelector: textMap,
  tolerations: parts,
  affinity: part,
  dnsConfig: part,
  hostAliases: parts,
  runtimeClassName: text,
  lifecycle: part,
  minReadySeconds: whole(0, 3600),
  apiConcurrency: orNull(whole(1, 200)),
  extraArgs: texts,
  extraEnv: parts,
  extraEnvFrom: parts,
  extraVolumes: parts,
  extraVolumeMounts: parts,
  podSecurityContext: part,
  securityContext: part,
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
};

const monitor = group({ enabled: flag, labels: textMap, interval: duration, scrapeTimeout: duration });

const gateway = group({
  ...role,
  drainSeconds: whole(0, 3600),
  endpointLagSeconds: orNull(whole(0, 600)),
  maxBodyBytes: orNull(whole(1024, 1_073_741_824)),
  maxBufferedBytes: orNull(whole(1024, 17_179_869_184)),
  maxAttempts: orNull(whole(1, 10)),
  balance: z.enum(['Weighted', 'LeastLoaded']),
  service: group({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']),
    port: orNull(whole(1, 65_535)),
    nodePort: orNull(whole(1, 65_535)),
    clusterIP: text,
    ipFamilyPolicy: z.enum(['', 'SingleStack', 'PreferDualStack', 'RequireDualStack']),
    loadBalancerClass: text,
    loadBalancerSourceRanges: texts,
    externalTrafficPolicy: z.enum(['', 'Cluster', 'Local']),
    trafficDistribution: text,
    labels: textMap,
    annotations: textMap,
  }),
  autoscaling: group({
    enabled: flag,
    minReplicas: whole(1, 1000),
    maxReplicas: whole(1, 1000),
    targetCPU: text.min(1),
    targetCPUUtilizationPercentage: orNull(whole(1, 1000)),
    metrics: parts,
    scaleDownStabilizationSeconds: whole(0, 3600),
  }),
});

const values = group({
  nameOverride: text.max(50),
  fullnameOverride: text.max(50),
  commonLabels: textMap,
  commonAnnotations: textMap,
  image: group({
    repository: text.min(1),
    tag: text,
    digest: z.string().regex(/^(sha256:[0-9a-f]{64})?$/),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
  }),
  imagePullSecrets: z.array(z.strictObject({ name: resourceName })),
  crds: group({ enabled: flag, keep: flag }),
  watch: group({
    namespaces: z.array(namespaceName).max(100),
    allNamespaces: flag,
    namespaceSelector: z.string().max(1_000),
    secretNamespaces: z.array(z.union([namespaceName, z.literal('*')])).max(100),
  }),
  class: z.string().regex(/^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$/),
  credentials: group({ sealedOnly: flag }),
  gatewayURL: z.string().regex(/^(https?:\/\/[^?#@\s]+)?$/),
  log: group({
    level: z.enum(logLevels),
    format: z.enum(logFormats),
    access: z.string().regex(/^(all|failed|off|0?\.[0-9]{1,6}|[01])?$/),
  }),
  debug: group({ enabled: flag }),
  telemetry: group({
    otlpEndpoint: z.string().regex(/^(https?:\/\/[^?#@\s]+)?$/),
    traces: flag,
    metrics: flag,
    sampleRatio: orNull(z.number().min(0).max(1)),
  }),
  controller: group({
    ...role,
    workers: orNull(whole(1, 64)),
    contacts: orNull(whole(1, 1000)),
    leaseSeconds: orNull(whole(6, 120)),
    claimSeconds: orNull(whole(15, 86_400)),
  }),
  gateway,
  tls: group({
    secretName: text,
    certManager: group({
      enabled: flag,
      issuerRef: group({ name: text, kind: text, group: text }),
      dnsNames: texts,
      duration,
      renewBefore: duration,
    }),
  }),
  ingress: group({ enabled: flag, className: text, annotations: textMap, hosts: texts, tls: parts }),
  httpRoute: group({
    enabled: flag,
    parentRefs: parts,
    hostnames: texts,
    annotations: textMap,
    requestTimeout: duration,
  }),
  networkPolicy: group({ enabled: flag, callers: parts, metricsReaders: parts, egress: parts }),
  metrics: group({
    serviceMonitor: monitor,
    podMonitor: monitor,
    prometheusRule: group({ enabled: flag, labels: textMap }),
    dashboards: group({ enabled: flag, labels: textMap, annotations: textMap }),
  }),
  rbac: group({
    create: flag,
    aggregate: flag,
    ownerReferences: flag,
    recipientReaders: z.array(text.min(1)).max(50),
  }),
  admissionPolicies: group({
    secretReaders: flag,
    gatewayWrites: flag,
    gatewayReports: flag,
    controllerSecrets: flag,
    keepSealing: flag,
    deleteDeclaredKeys: flag,
  }),
  nodes: z.array(part),
  apiKeys: z.array(part),
  masterKeys: z.array(part),
  tests: group({ enabled: flag }),
  // Helm gives it to charts that depend on this one, and to this one where it is a dependency.
  global: part,
});

/** A key is generated into a Secret: no text of it, nor its hash, stands in values. */
const withoutSource = ['hash', 'hint'];

/**
 * The JSON schema of the chart's values (draft 7, which every Helm reads). Nodes and keys are as their definitions say;
 * `descriptions` holds the text of each field by its path, such as `gateway.service.port`.
 */
export function valuesSchema(crds: readonly Crd[], descriptions: ReadonlyMap<string, string>): JsonSchema {
  const schema = z.toJSONSchema(values, { target: 'draft-7', io: 'input' }) as JsonSchema;
  const { properties = {} } = schema;
  properties['nodes'] = listOf({
    type: 'object',
    properties: { name: objectName, spec: specOf(crds, 'UpstreamNode') },
    required: ['name', 'spec'],
    additionalProperties: false,
  });
  for (const [member, kind] of [
    ['apiKeys', 'APIKey'],
    ['masterKeys', 'MasterKey'],
  ] as const) {
    const { properties: fields = {}, ...rest } = specOf(crds, kind);
    const taken = Object.entries(fields).filter(([name]) => !withoutSource.includes(name));
    properties[member] = listOf({
      ...rest,
      properties: { name: objectName, ...Object.fromEntries(taken) },
      required: ['name', 'secretName'],
    });
  }
  describe(schema, '', descriptions);
  return schema;
}

const objectName: JsonSchema = {
  type: 'string',
  pattern: '^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$',
  maxLength: 253,
};

function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

function specOf(crds: readonly Crd[], kind: string): JsonSchema {
  const crd = crds.find(({ spec }) => spec.names.kind === kind);
  const spec = crd?.spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec'];
  if (spec === undefined) throw new Error(`There is no definition of ${kind}`);
  return strict(spec);
}

/** The same without what only the API server reads, and with unknown fields refused, as the API server drops them. */
function strict(schema: JsonSchema): JsonSchema {
  const own = Object.entries(schema).filter(
    ([name]) => !name.startsWith('x-kubernetes-') && name !== 'default',
  );
  const result: JsonSchema = Object.fromEntries(own);
  if (schema.items !== undefined) result.items = strict(schema.items);
  if (typeof schema.additionalProperties === 'object')
    result.additionalProperties = strict(schema.additionalProperties);
  if (schema.properties !== undefined) {
    const members = Object.entries(schema.properties);
    result.properties = Object.fromEntries(members.map(([name, member]) => [name, strict(member)]));
    result.additionalProperties = false;
  }
  return result;
}

function describe(schema: JsonSchema, path: string, descriptions: ReadonlyMap<string, string>): void {
  const text = descriptions.get(path);
  if (text !== undefined) schema.description = text;
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    describe(member, path === '' ? name : `${path}.${name}`, descriptions);
}
