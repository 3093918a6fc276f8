import type { z } from 'zod';
import { apiKeySchema } from './api-key.ts';
import { gatewayReportSchema } from './gateway-report.ts';
import { type JsonSchema, jsonSchema } from './json-schema.ts';
import { masterKeySchema } from './master-key.ts';
import { upstreamNodeSchema } from './upstream-node.ts';

/** A column of `kubectl get`; `priority` 1 shows it with `-o wide` only. */
type Column = { name: string; type: string; jsonPath: string; priority?: 1; description: string };

type KindDeclaration = {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly description: string;
  readonly schema: z.ZodObject;
  readonly columns: readonly Column[];
  readonly selectable: readonly string[];
  /** What `spec` holds, where it is not what a person wants. */
  readonly specMeans?: string;
};

const group = 'modelgateway.dev';
const ready = '.status.conditions[?(@.type=="Ready")]';
const reachable = '.status.conditions[?(@.type=="Reachable")]';
const age: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since the resource was added',
};

function column(name: string, type: string, jsonPath: string, description: string): Column {
  return { name, type, jsonPath, description };
}

const keyColumns = [
  column(
    'Ready',
    'string',
    `${ready}.status`,
    'Whether the key is as the spec wants it; a disabled one is, and opens nothing',
  ),
  column('Enabled', 'boolean', '.spec.enabled', 'Whether the key is enabled'),
  column('Hint', 'string', '.status.hashes[0].hint', 'Which key it is'),
];
const inForce: Column = {
  ...column(
    'In Force',
    'string',
    '.status.conditions[?(@.type=="InForce")].status',
    'Whether every gateway has applied the last change',
  ),
  priority: 1,
};
const keyMessage: Column = {
  ...column('Message', 'string', `${ready}.message`, 'Why the key is or is not ready'),
  priority: 1,
};
const expires = column('Expires', 'string', '.spec.expirationTime', 'When the key ends');
const keyFields = ['.spec.secretName', '.spec.hash'];

const declarations: readonly KindDeclaration[] = [
  {
    kind: 'UpstreamNode',
    plural: 'upstreamnodes',
    shortName: 'upnode',
    description: 'A connection to a server of models.',
    schema: upstreamNodeSchema,
    columns: [
      column('URL', 'string', '.spec.baseURL', 'Base address'),
      column('Status', 'string', '.status.phase', 'Phase'),
      column('Models', 'string', '.status.enabledModels', 'Enabled models of all'),
      column('Last Sync', 'date', '.status.lastSuccessfulSyncTime', 'Time since a model sync last succeeded'),
      column('Enabled', 'boolean', '.spec.enabled', 'Whether the node takes requests'),
      column('Priority', 'integer', '.spec.priority', 'Higher is preferred'),
      column('Weight', 'integer', '.spec.weight', 'Share within one priority'),
      age,
      {
        ...column('Last Try', 'date', '.status.lastSyncTime', 'Time since the last model sync, good or bad'),
        priority: 1,
      },
      { ...column('Display Name', 'string', '.spec.displayName', 'Name for people'), priority: 1 },
      { ...column('Last Check', 'string', `${reachable}.reason`, 'Result of the last check'), priority: 1 },
      { ...column('Message', 'string', `${ready}.message`, 'Why the node is or is not ready'), priority: 1 },
    ],
    selectable: ['.spec.apiKeySecretRef.name'],
  },
  {
    kind: 'APIKey',
    plural: 'apikeys',
    shortName: 'apik',
    description: 'A key for callers of the model APIs.',
    schema: apiKeySchema,
    columns: [
      ...keyColumns,
      column('Models', 'string', '.spec.models', 'Names that the key may ask for; empty means all'),
      expires,
      age,
      inForce,
      keyMessage,
    ],
    selectable: keyFields,
  },
  {
    kind: 'MasterKey',
    plural: 'masterkeys',
    shortName: 'mkey',
    description: 'A key that opens /v1/keys and nothing else.',
    schema: masterKeySchema,
    columns: [...keyColumns, expires, age, inForce, keyMessage],
    selectable: keyFields,
  },
  {
    kind: 'GatewayReport',
    plural: 'gatewayreports',
    shortName: 'gwreport',
    description: 'What one gateway says of itself. Written by that gateway alone.',
    schema: gatewayReportSchema,
    specMeans: 'What the gateway says.',
    columns: [
      column('State', 'string', '.spec.state', 'Starting, Serving, Draining or Stopped'),
      column('Version', 'string', '.spec.version', 'Version of the gateway'),
      column('In Flight', 'integer', '.spec.requestsInFlight', 'Requests that are being answered'),
      column('Circuits', 'integer', '.spec.openCircuits', 'Circuits that are open or half-open'),
      column('Heartbeat', 'date', '.spec.heartbeatTime', 'Time since the report was written'),
      age,
    ],
    selectable: [],
  },
];

/** A CustomResourceDefinition (apiextensions.k8s.io/v1) of ours. */
export type Crd = ReturnType<typeof crd>;

/** The CustomResourceDefinitions of every kind of ours, built from the schemas that also parse manifests. */
export function crds(): readonly Crd[] {
  return declarations.map(crd);
}

function crd(declaration: KindDeclaration) {
  const { kind, plural, shortName } = declaration;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ['modelgateway'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          ...('status' in declaration.schema.shape ? { subresources: { status: {} } } : {}),
          additionalPrinterColumns: declaration.columns,
          ...(declaration.selectable.length === 0
            ? {}
            : { selectableFields: declaration.selectable.map((jsonPath) => ({ jsonPath })) }),
          schema: { openAPIV3Schema: objectSchema(declaration) },
        },
      ],
    },
  };
}

function objectSchema({ schema, description, specMeans }: KindDeclaration): JsonSchema {
  const { spec = {}, status } = jsonSchema(schema).properties ?? {};
  return {
    type: 'object',
    description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
      kind: { type: 'string', description: 'Kind of this object.' },
      metadata: { type: 'object' },
      spec: { description: specMeans ?? 'What is wanted.', ...spec },
      ...(status === undefined ? {} : { status: statusSchema(status) }),
    },
  };
}

function statusSchema(status: JsonSchema): JsonSchema {
  return {
    description: 'What was found. Written by the controller alone.',
    ...status,
    // Keeps a new object from looking finished (to kstatus, and so to Helm and Flux) before we saw it.
    default: { observedGeneration: -1 },
  };
}
