import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import { eventually } from './eventually.ts';

const crdSchema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    group: z.string(),
    names: z.object({ plural: z.string() }),
    versions: z.array(z.object({ name: z.string(), served: z.boolean() })),
  }),
});

const conditionsSchema = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
});

/**
 * Waits until the server has established every CRD of these manifests and answers lists of each served version.
 * Established alone is not enough: the handler may still answer 404 for a moment.
 */
export async function waitUntilServed(client: ApiClient, manifests: readonly string[]): Promise<void> {
  const documents = manifests.flatMap((text) => parseAllDocuments(text)).map((document) => document.toJS());
  for (const { metadata, spec } of documents.filter(Boolean).map((document) => crdSchema.parse(document))) {
    await eventually(`CRD ${metadata.name} is established`, async () => {
      const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`;
      const found = conditionsSchema.safeParse(await client.ask('GET', path));
      const conditions = found.data?.status.conditions ?? [];
      return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
    });
    for (const version of spec.versions.filter(({ served }) => served)) {
      const path = `/apis/${spec.group}/${version.name}/${spec.names.plural}?limit=1`;
      await eventually(`${path} is served`, async () => (await client.send('GET', path)).status === 200);
    }
  }
}
