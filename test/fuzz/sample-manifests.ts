const apiVersion = 'modelgateway.dev/v1alpha1';

/** One of each kind with many fields, as JSON, which is YAML too. */
export const sampleManifests: readonly string[] = [
  {
    ...{
      apiVersion,
      kind: 'UpstreamNode',
      metadata: {
        name: 'n',
        namespace: 'default',
        labels: { a: 'b' },
        annotations: { 'modelgateway.dev/sync-requested-at': 'x' },
      },
    },
    spec: {
      ...{
        displayName: 'N',
        baseURL: 'https://x.example/v1',
        authentication: 'Bearer',
        enabled: true,
        priority: 5,
        weight: 5,
      },
      apiKeySecretRef: { name: 's', key: 'apiKey' },
      nativeFormats: ['Messages'],
      manualModels: ['m'],
      models: [{ name: 'm', enabled: true, aliases: ['a'], dialect: { files: true } }],
      callerNamespaces: { from: 'Names', names: ['x'] },
      sync: { intervalSeconds: 60, newModels: 'Enabled', discovery: 'Always' },
      healthCheck: { mode: 'Models', intervalSeconds: 10, timeoutSeconds: 1, failureThreshold: 1 },
      timeouts: { connectSeconds: 1, firstByteSeconds: 1, idleSeconds: 1, totalSeconds: 1 },
      headers: [
        { name: 'x-a', value: 'b' },
        { name: 'x-c', secretRef: { name: 's', key: 'k' } },
      ],
      tls: { serverName: 'x.example' },
      dialect: { maxTokensField: 'MaxTokens', reasoningEfforts: ['low'] },
    },
  },
  {
    apiVersion,
    kind: 'APIKey',
    metadata: { name: 'k' },
    spec: {
      secretName: 's',
      models: ['m'],
      expirationTime: '2030-01-01T00:00:00Z',
      conversion: 'Strict',
      rotation: { revision: 1, overlapSeconds: 60 },
      secretTemplate: { labels: { a: 'b' } },
    },
  },
  {
    apiVersion,
    kind: 'MasterKey',
    metadata: { name: 'mk' },
    spec: { hash: `sha256:${'0'.repeat(64)}`, hint: 'mgm_...abcd' },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    stringData: { apiKey: 'x' },
    data: { k: 'eA==' },
  },
].map((manifest) => JSON.stringify(manifest, null, 2));
