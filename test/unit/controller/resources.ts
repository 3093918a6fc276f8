import { type ApiKey, apiKeySchema } from '../../../src/resources/api-key.ts';
import { type MasterKey, masterKeySchema } from '../../../src/resources/master-key.ts';
import { type Secret, secretSchema } from '../../../src/resources/secret.ts';
import { type UpstreamNode, upstreamNodeSchema } from '../../../src/resources/upstream-node.ts';

const apiVersion = 'modelgateway.dev/v1alpha1';

type Meta = Record<string, unknown>;

/** A node as a manifest declares it, with the schema's defaults. */
export function nodeOf(name: string, spec: Record<string, unknown> = {}, metadata: Meta = {}): UpstreamNode {
  return upstreamNodeSchema.parse({
    apiVersion,
    kind: 'UpstreamNode',
    metadata: { name, namespace: 'home', ...metadata },
    spec: { baseURL: 'http://127.0.0.1:1/v1', ...spec },
  });
}

export function apiKeyOf(name: string, spec: Record<string, unknown>, metadata: Meta = {}): ApiKey {
  return apiKeySchema.parse({
    apiVersion,
    kind: 'APIKey',
    metadata: { name, namespace: 'home', ...metadata },
    spec,
  });
}

export function masterKeyOf(name: string, spec: Record<string, unknown>, metadata: Meta = {}): MasterKey {
  return masterKeySchema.parse({
    apiVersion,
    kind: 'MasterKey',
    metadata: { name, namespace: 'home', ...metadata },
    spec,
  });
}

export function secretOf(name: string, stringData: Record<string, string>, metadata: Meta = {}): Secret {
  return secretSchema.parse({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'home', ...metadata },
    stringData,
  });
}
