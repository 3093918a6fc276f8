import { stringify } from 'yaml';

/**
 * Definitions that stand in for those of Prometheus's operator, the Gateway API and cert-manager: as strict as theirs in
 * the fields that the chart writes, and with no others. The API server then refuses what is misspelt or of a wrong type.
 */
export function standInCrds(): string {
  return kinds.map((kind) => stringify(crd(kind))).join('---\n');
}

type Schema = { readonly [member: string]: Schema | string } | string | readonly [Schema];

interface StandIn {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly spec: Schema;
}

/** Names of types stand for themselves, a list of one for a list, `any` for what the chart hands on. */
const selector = { matchLabels: 'map' };
const endpoint = { port: 'string', path: 'string', interval: 'string', scrapeTimeout: 'string' };
const kinds: readonly StandIn[] = [
  {
    group: 'monitoring.coreos.com',
    kind: 'ServiceMonitor',
    plural: 'servicemonitors',
    spec: { selector, endpoints: [endpoint] },
  },
  {
    group: 'monitoring.coreos.com',
    kind: 'PodMonitor',
    plural: 'podmonitors',
    spec: { selector, podMetricsEndpoints: [endpoint] },
  },
  {
    group: 'monitoring.coreos.com',
    kind: 'PrometheusRule',
    plural: 'prometheusrules',
    spec: {
      groups: [
        {
          name: 'string',
          interval: 'string',
          rules: [
            {
              alert: 'string',
              record: 'string',
              expr: 'string',
              for: 'string',
              keep_firing_for: 'string',
              labels: 'map',
              annotations: 'map',
            },
          ],
        },
      ],
    },
  },
  {
    group: 'gateway.networking.k8s.io',
    kind: 'HTTPRoute',
    plural: 'httproutes',
    spec: {
      parentRefs: [{ name: 'string', namespace: 'string', sectionName: 'string' }],
      hostnames: ['string'],
      rules: [
        {
          matches: [{ path: { type: 'string', value: 'string' } }],
          backendRefs: [{ name: 'string', port: 'integer' }],
          timeouts: { request: 'string' },
        },
      ],
    },
  },
  {
    group: 'cert-manager.io',
    kind: 'Certificate',
    plural: 'certificates',
    spec: {
      secretName: 'string',
      issuerRef: { name: 'string', kind: 'string', group: 'string' },
      dnsNames: ['string'],
      privateKey: { algorithm: 'string', size: 'integer', rotationPolicy: 'string' },
      duration: 'string',
      renewBefore: 'string',
    },
  },
];

function crd({ group, kind, plural, spec }: StandIn) {
  const openAPIV3Schema = { type: 'object', properties: { spec: toOpenApi(spec) } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a stand-in for tests' },
    },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

function toOpenApi(schema: Schema): object {
  if (schema === 'map') return { type: 'object', additionalProperties: { type: 'string' } };
  if (typeof schema === 'string') return { type: schema };
  if (Array.isArray(schema)) return { type: 'array', items: toOpenApi(schema[0] as Schema) };
  const members = Object.entries(schema).map(([name, member]) => [name, toOpenApi(member as Schema)]);
  return { type: 'object', properties: Object.fromEntries(members) as object };
}
