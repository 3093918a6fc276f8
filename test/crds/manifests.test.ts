import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sharedCluster } from '../support/cluster.ts';
import { wantedKubernetes } from '../support/control-plane/binaries.ts';
import { pinnedVersions } from '../support/control-plane/build.ts';
import { badManifests, serverMessage } from './bad-manifests.ts';
import { boundCases } from './bound-cases.ts';
import { changes } from './changes.ts';
import { filesIn, type Manifest, manifest, manifests } from './manifests.ts';

// The same manifests go through our own parsing in test/unit/resources.

const cluster = sharedCluster();
const serverIsPinned = wantedKubernetes() === pinnedVersions().kubernetes;
let namespace = '';

beforeAll(async () => {
  await cluster.applyCrds();
  namespace = await cluster.newNamespace('manifests');
});

const answerSchema = z.object({ message: z.string().optional() });

function pathOf({ kind }: Manifest): string {
  return `/apis/modelgateway.dev/v1alpha1/namespaces/${namespace}/${kind.toLowerCase()}s`;
}

/** What the server says to a new object, without keeping it: its message, or nothing when it takes it. */
async function refusal(document: Manifest): Promise<string | undefined> {
  const path = `${pathOf(document)}?fieldValidation=Strict&dryRun=All`;
  const { status, body } = await cluster.client.send('POST', path, { body: document });
  const { message } = answerSchema.parse(body);
  return status === 201 ? undefined : (message ?? `HTTP ${status}`);
}

test.each(filesIn('good'))('good/%s is taken', async (file) => {
  expect(await refusal(manifest('good', file))).toBeUndefined();
});

test.each(badManifests)('bad/$file is refused', async (bad) => {
  const document = manifest('bad', bad.file);
  const expected = serverMessage(document, bad);
  // Each version of Kubernetes words the rest in its own way.
  if (!serverIsPinned) expect(await refusal(document)).toContain(expected.slice(0, expected.indexOf(': ')));
  else expect(await refusal(document)).toBe(expected);
});

test('every bound holds where it is said to', async () => {
  const wrong: string[] = [];
  for (const { title, allowed, manifest: document } of boundCases()) {
    const message = await refusal(document);
    if ((message === undefined) !== allowed) wrong.push(`${title}: ${message ?? 'was taken'}`);
  }
  expect(wrong).toEqual([]);
});

describe('changes', () => {
  test.each(changes)('changes/%s', async (file, server) => {
    const [before, after] = manifests('changes', file);
    if (before === undefined || after === undefined) throw new Error('two documents are needed');
    await cluster.client.ask('POST', pathOf(before), { body: { ...before, metadata: { name: file } } });
    const { status, body } = await cluster.client.send(
      'PATCH',
      `${pathOf(after)}/${file}?fieldManager=other`,
      {
        contentType: 'application/json-patch+json',
        body: [{ op: 'replace', path: '/spec', value: after['spec'] }],
      },
    );
    const causes = server.length > 1 ? `[${server.join(', ')}]` : server[0];
    const message = `${after.kind}.modelgateway.dev "${file}" is invalid: ${causes}`;
    if (server.length === 0) expect(status).toBe(200);
    else if (!serverIsPinned) expect(status).toBe(422);
    else expect(answerSchema.parse(body).message).toBe(message);
  });
});
