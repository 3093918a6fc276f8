import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { benchModels } from './bench-requests.ts';

/** The caller's key of every measurement. */
export const benchKey = 'bench-key-0123456789-abcdefghijklmnop';

/** How much is declared besides what is used. */
export interface BigSet {
  keys: number;
  nodes: number;
  modelsPerNode: number;
}

const keysPerFile = 100;

/** Writes the node and the key that the measurements use. */
export function writeSmallSet(directory: string, upstreamPort: number): void {
  mkdirSync(directory, { recursive: true });
  const node = nodeManifest('bench', upstreamPort, Object.values(benchModels), 50);
  writeFileSync(join(directory, 'bench.yaml'), `${node}---\n${keyManifest('bench', benchKey, 'bench')}`);
}

/** Writes the big set beside it: 100 keys to a file, one node to a file, as people who have many would keep them. */
export function writeBigSet(directory: string, upstreamPort: number, set: BigSet): void {
  mkdirSync(join(directory, 'keys'), { recursive: true });
  mkdirSync(join(directory, 'nodes'), { recursive: true });
  for (let first = 0; first < set.keys; first += keysPerFile) {
    const documents = Array.from({ length: Math.min(keysPerFile, set.keys - first) }, (_, offset) =>
      keyManifest(keyName(first + offset), `never-used-key-number-${first + offset}`, 'first'),
    );
    writeFileSync(keyFile(directory, first), documents.join('---\n'));
  }
  for (let index = 0; index < set.nodes; index++) changeNode(directory, upstreamPort, set, index, 50);
}

/** Declares one node of the big set with another weight. */
export function changeNode(
  directory: string,
  upstreamPort: number,
  set: BigSet,
  index: number,
  weight: number,
) {
  // Half of a node's models are its own, half are served by ten nodes: both a long and a wide index.
  const models = Array.from({ length: set.modelsPerNode }, (_, model) =>
    model % 2 === 0
      ? `vendor-${index}/model-${model}-instruct`
      : `shared-${Math.floor(index / 10)}/model-${model}-chat`,
  );
  const name = `node-${String(index).padStart(4, '0')}`;
  replace(join(directory, 'nodes', `${name}.yaml`), nodeManifest(name, upstreamPort, models, weight));
}

/** Declares the keys of one file again, the first of them with another display name. */
export function changeKey(directory: string, set: BigSet, index: number, displayName: string): void {
  const first = index - (index % keysPerFile);
  const documents = Array.from({ length: Math.min(keysPerFile, set.keys - first) }, (_, offset) => {
    const shown = offset === 0 ? displayName : 'first';
    return keyManifest(keyName(first + offset), `never-used-key-number-${first + offset}`, shown);
  });
  replace(keyFile(directory, first), documents.join('---\n'));
}

function replace(file: string, content: string): void {
  writeFileSync(`${file}.tmp`, content);
  renameSync(`${file}.tmp`, file);
}

function keyName(index: number): string {
  return `key-${String(index).padStart(6, '0')}`;
}

function keyFile(directory: string, first: number): string {
  return join(directory, 'keys', `${keyName(first)}.yaml`);
}

function keyManifest(name: string, key: string, displayName: string): string {
  return `apiVersion: modelgateway.dev/v1alpha1
kind: APIKey
metadata:
  name: ${name}
spec:
  displayName: ${displayName}
  hash: sha256:${createHash('sha256').update(key).digest('hex')}
`;
}

function nodeManifest(name: string, port: number, models: readonly string[], weight: number): string {
  return `apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata:
  name: ${name}
spec:
  baseURL: http://127.0.0.1:${port}/v1
  weight: ${weight}
  sync:
    discovery: Never
  healthCheck:
    mode: None
  manualModels:
${models.map((model) => `    - ${model}\n`).join('')}`;
}
