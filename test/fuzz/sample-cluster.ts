/** What an API server answers besides the objects themselves, which `sample-manifests.ts` has. */
const object = {
  metadata: { name: 'x', namespace: 'a', resourceVersion: '5', uid: 'u', annotations: { a: 'b' } },
};

export const sampleWatchEvents: readonly object[] = [
  { type: 'ADDED', object },
  {
    type: 'MODIFIED',
    object: { ...object, metadata: { ...object.metadata, managedFields: [{ manager: 'm' }] } },
  },
  { type: 'DELETED', object },
  {
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: '8', annotations: { 'k8s.io/initial-events-end': 'true' } } },
  },
  {
    type: 'ERROR',
    object: {
      ...{ kind: 'Status', code: 410, reason: 'Expired', message: 'too old' },
      details: {
        retryAfterSeconds: 1,
        causes: [{ reason: 'FieldValueInvalid', field: 'spec', message: 'no' }],
      },
    },
  },
];

export const sampleLists: readonly object[] = [
  {
    ...{ apiVersion: 'modelgateway.dev/v1alpha1', kind: 'UpstreamNodeList' },
    metadata: { resourceVersion: '4', continue: '', remainingItemCount: 1 },
    items: [object, object],
  },
];

export const sampleLeases: readonly object[] = [
  {
    metadata: { name: 'l', resourceVersion: '5' },
    spec: {
      ...{ holderIdentity: 'h', leaseDurationSeconds: 15, leaseTransitions: 1 },
      ...{ acquireTime: '2026-01-01T00:00:00.000000Z', renewTime: '2026-01-01T00:00:00.000000Z' },
    },
  },
];

const user = {
  ...{
    token: 't',
    username: 'u',
    password: 'p',
    'client-certificate-data': 'eA==',
    'client-key-data': 'eA==',
  },
  ...{ tokenFile: '/nowhere', as: 'a' },
};
const exec = {
  ...{
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './nothing',
    args: ['a'],
    provideClusterInfo: true,
  },
  env: [{ name: 'A', value: 'b' }],
};

export const sampleKubeconfigs: readonly object[] = [
  user,
  { exec },
  { 'auth-provider': { name: 'x', config: { a: 'b' } } },
].map((each) => ({
  ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c', preferences: {} },
  contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'n' } }],
  clusters: [
    {
      name: 'k',
      cluster: {
        ...{ server: 'https://127.0.0.1:1', 'certificate-authority-data': 'eA==', 'tls-server-name': 's' },
        ...{ 'insecure-skip-tls-verify': false, 'proxy-url': 'http://127.0.0.1:2' },
      },
    },
  ],
  users: [{ name: 'u', user: each }],
}));

const condition = {
  ...{ type: 'Ready', status: 'True', reason: 'Ready', message: 'm', observedGeneration: 1 },
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

/** The status of each kind, as the data folder and the API server hold it. */
export const sampleStatuses: Readonly<Record<'UpstreamNode' | 'APIKey', object>> = {
  UpstreamNode: {
    ...{ phase: 'ready', modelCount: 1, enabledModelCount: 1, apiKeySet: true, observedGeneration: 1 },
    ...{
      lastSyncTime: '2026-01-01T00:00:00Z',
      lastSyncError: 'e',
      lastHealthCheckTime: '2026-01-01T00:00:00Z',
    },
    models: [
      { name: 'm', enabled: true, source: 'Discovered', missedSyncs: 1, contextTokens: 1, outputTokens: 1 },
    ],
    syncedWith: { baseURL: 'https://x.example/v1', secretResourceVersion: '1' },
    ...{ lastHandledSyncRequest: 'x', conditions: [condition] },
  },
  APIKey: {
    hashes: [
      {
        ...{ hash: `sha256:${'0'.repeat(64)}`, hint: 'mgk_...abcd', revision: 1 },
        ...{ createdTime: '2026-01-01T00:00:00Z', expirationTime: '2030-01-01T00:00:00Z' },
      },
    ],
    ...{ observedGeneration: 1, conditions: [condition] },
  },
};

/** A record of the state file. */
export const sampleRecords: readonly object[] = [
  {
    ...{ uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z', generation: 1 },
    ...{ specMark: 'x', spec: { baseURL: 'https://x.example/v1' }, file: 'nodes.yaml' },
    status: sampleStatuses.UpstreamNode,
  },
];

/** What the console's page asks to be changed. */
export const sampleWishes: readonly object[] = [
  {
    wishes: {
      edits: [
        { path: ['spec', 'baseURL'], value: 'https://x.example/v1' },
        { path: ['spec', 'models', { name: 'm' }, 'enabled'], value: true },
        { path: ['spec', 'weight'], remove: true },
      ],
      models: { names: ['m'], enabled: true },
      ...{ sync: true, newKey: true, clearApiKey: true },
    },
    ...{ version: 'v', dryRun: true, force: false },
  },
];
