import type { ApiClient } from './api-client.ts';
import { waitUntilServed } from './crd-served.ts';
import { listed } from './listed.ts';

/** Where the API server keeps the definitions of kinds. */
export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Definitions that were deleted, and with them their objects. */
export interface DeletedDefinitions {
  areGone(): Promise<boolean>;
  /** Applies them as they were, and waits until their kinds are served, with no objects. */
  putBack(): Promise<void>;
}

/** Deletes all definitions of the cluster; objects go a moment later. */
export async function deleteDefinitions(client: ApiClient): Promise<DeletedDefinitions> {
  const deleted = await listed(client, definitionsPath);
  for (const { metadata } of deleted) await client.ask('DELETE', `${definitionsPath}/${metadata.name}`);
  return {
    areGone: async () => (await listed(client, definitionsPath)).length === 0,
    async putBack() {
      const bodies = deleted.map(({ metadata: { name }, spec }) => ({
        ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
        ...{ metadata: { name }, spec },
      }));
      for (const body of bodies) await client.ask('POST', definitionsPath, { body });
      await waitUntilServed(
        client,
        bodies.map((body) => JSON.stringify(body)),
      );
    },
  };
}
