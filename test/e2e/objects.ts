import { readFileSync } from 'node:fs';

/** Where the release is, and all that it serves. */
export const releaseNamespace = 'model-gateway';
const modelServer = readFileSync(new URL('./model-server.mjs', import.meta.url), 'utf8');

/** Values of the release: a node port, a node and a key. */
export function values(image: string): object {
  const colon = image.lastIndexOf(':');
  return {
    image: { repository: image.slice(0, colon), tag: image.slice(colon + 1), pullPolicy: 'Never' },
    gateway: { drainSeconds: 60, service: { type: 'NodePort', nodePort: 30_080 } },
    nodes: [node('model-server')],
    apiKeys: [{ name: 'first', secretName: 'first-key' }],
  };
}

export const apiVersion = 'modelgateway.dev/v1alpha1';

export function node(name: string) {
  const baseURL = `http://model-server.${releaseNamespace}.svc:8000/v1`;
  const spec = { baseURL, apiKeySecretRef: { name: 'model-server' } };
  return { name, spec };
}

export function key(name: string): object {
  return { apiVersion, kind: 'APIKey', metadata: { name }, spec: { secretName: name } };
}

export function credential(apiKey: string): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'model-server' }, stringData: { apiKey } };
}

/** A model server on the control plane's node, which is not drained. */
export function modelServerObjects(image: string): object[] {
  const labels = { app: 'model-server' };
  const container = {
    name: 'model-server',
    image,
    imagePullPolicy: 'Never',
    command: ['node', '--input-type=module', '--eval', modelServer],
    readinessProbe: { httpGet: { path: '/v1/models', port: 8000 } },
  };
  const pod = {
    nodeSelector: { 'node-role.kubernetes.io/control-plane': '' },
    tolerations: [{ operator: 'Exists' }],
    containers: [container],
  };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'model-server' },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'model-server' },
      spec: { selector: labels, ports: [{ port: 8000 }] },
    },
  ];
}
