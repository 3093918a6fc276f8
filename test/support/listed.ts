import { z } from 'zod';
import type { ApiClient } from './api-client.ts';

const listSchema = z.object({
  items: z.array(
    z.object({ metadata: z.object({ name: z.string() }), spec: z.record(z.string(), z.unknown()) }),
  ),
});

/** Names and specs of the objects of a list, by its path. */
export async function listed(client: ApiClient, path: string) {
  return listSchema.parse(await client.ask('GET', path)).items;
}
