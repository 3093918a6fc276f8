import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { sharedCluster } from '../support/cluster.ts';

const folder = fileURLToPath(new URL('../../examples', import.meta.url));
const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort();
const cluster = sharedCluster();

beforeAll(() => cluster.applyCrds());

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
}

/** Every namespace that an example names becomes one of the test's own, so that runs do not meet. */
async function moved(file: string): Promise<{ text: string; namespace: string; documents: Manifest[] }> {
  const text = await readFile(join(folder, file), 'utf8');
  const documents = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
  const namespace = await cluster.newNamespace('examples');
  const rename = (name: string) => (name === 'default' ? namespace : `${namespace}-${name}`);
  for (const document of documents) {
    if (document.kind === 'Namespace') document.metadata.name = rename(document.metadata.name);
    if (document.metadata.namespace !== undefined)
      document.metadata.namespace = rename(document.metadata.namespace);
  }
  return {
    text: documents.map((document) => JSON.stringify(document)).join('\n---\n'),
    namespace,
    documents,
  };
}

test('there are examples', () => expect(files.length).toBeGreaterThanOrEqual(10));

test.each(files)('%s applies under strict validation', async (file) => {
  const { text, namespace, documents } = await moved(file);
  // Without a default namespace where documents name their own: kubectl refuses to mix the two.
  const own = documents.some(({ metadata }) => metadata.namespace !== undefined);
  const flags = ['apply', '--validate=strict', ...(own ? [] : ['--namespace', namespace]), '-f', '-'];
  const first = await cluster.kubectl(flags, text);
  expect(first.stderr).toBe('');
  expect(first.code).toBe(0);
  expect(first.stdout.trim().split('\n')).toHaveLength(documents.length);
  // Nothing that the server fills in makes a second apply a change; kubectl makes a Secret of stringData anew.
  const second = await cluster.kubectl(flags, text);
  expect(second.code).toBe(0);
  for (const line of second.stdout.trim().split('\n')) expect(line).toMatch(/ (unchanged|configured)$/);
  const changed = second.stdout.split('\n').filter((line) => line.endsWith(' configured'));
  expect(changed.filter((line) => !line.startsWith('secret/'))).toEqual([]);
});
