import type { ApiKey } from '../../../src/resources/api-key.ts';
import type { MasterKey } from '../../../src/resources/master-key.ts';
import { parseStored } from '../../../src/resources/parse.ts';
import type { Secret } from '../../../src/resources/secret.ts';
import type { UpstreamNode } from '../../../src/resources/upstream-node.ts';

type Meta = Record<string, unknown> & { name?: string; namespace?: string };

export function makeNode(spec: object = {}, status?: object, metadata: Meta = {}): UpstreamNode {
  return parsed({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { name: 'node', ...metadata },
    spec: { baseURL: 'http://127.0.0.1:1/v1', ...spec },
    ...(status && { status }),
  }) as UpstreamNode;
}

export function makeKey(spec: object, metadata: Meta = {}, status?: object): ApiKey {
  return parsed({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'APIKey',
    metadata: { name: 'key', ...metadata },
    spec,
    ...(status && { status }),
  }) as ApiKey;
}

export function makeMasterKey(spec: object, metadata: Meta = {}): MasterKey {
  return parsed({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'MasterKey',
    metadata: { name: 'master', ...metadata },
    spec,
  }) as MasterKey;
}

export function makeSecret(name: string, texts: Record<string, string>, metadata: Meta = {}): Secret {
  return parsed({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, ...metadata },
    stringData: texts,
  }) as Secret;
}

/** A hash as a key resource names it; differs for each number. */
export function hashOf(number: number): string {
  return `sha256:${String(number).padStart(64, '0')}`;
}

function parsed(document: object): unknown {
  const result = parseStored(document);
  if ('resource' in result) return result.resource;
  throw new Error(JSON.stringify(result.problems));
}
