import { z } from 'zod';
import type { KubeClient } from './client.ts';

const groupList = z.object({
  kind: z.literal('APIGroupList'),
  groups: z.array(z.object({ name: z.string(), versions: z.array(z.object({ version: z.string() })) })),
});
const resourceList = z.object({
  kind: z.literal('APIResourceList'),
  resources: z.array(z.object({ name: z.string() })),
});

/**
 * Whether the API server serves the resource of a list's path in any version of its group, by its discovery. A 404 alone is
 * no proof, because a proxy may answer it, and because the objects still exist if only one version is not served any more.
 * Core resources are always served.
 *
 * @throws ApiError as `KubeClient.request`; z.ZodError for an answer that no API server gives
 */
export async function isServed(client: KubeClient, path: string, signal: AbortSignal): Promise<boolean> {
  const [root, group, , ...rest] = path.slice(1).split('/');
  if (root !== 'apis') return true;
  const { groups } = groupList.parse(await client.request({ method: 'GET', path: '/apis', signal }));
  const plural = rest[0] === 'namespaces' ? rest[2] : rest[0];
  for (const { version } of groups.find(({ name }) => name === group)?.versions ?? []) {
    const path = `/apis/${group}/${version}`;
    const { resources } = resourceList.parse(await client.request({ method: 'GET', path, signal }));
    if (resources.some(({ name }) => name === plural)) return true;
  }
  return false;
}
