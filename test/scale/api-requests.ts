import type { Cluster } from '../support/cluster.ts';
import type { RoleProcess } from '../support/processes.ts';
import { gauge, samples } from './metric-text.ts';

/** Requests that the API server has answered so far, of the kinds that the roles ask for. */
export interface ApiRequests {
  readonly ours: number;
  /** By verb and resource. */
  readonly verbs: Readonly<Record<string, number>>;
}

const kinds = new Set([
  ...['upstreamnodes', 'apikeys', 'masterkeys', 'leases', 'events', 'secrets', 'configmaps'],
]);

/** Reads them from the API server's own metrics (`apiserver_request_total`). */
export async function apiRequests({ client }: Cluster): Promise<ApiRequests> {
  const { body } = await client.send('GET', '/metrics');
  const verbs: Record<string, number> = {};
  let ours = 0;
  for (const { labels, value } of samples(String(body), 'apiserver_request_total')) {
    const { verb = '', resource = '', subresource = '' } = labels;
    // Its own kube-system Lease and the like are there, too, but few.
    if (!kinds.has(resource)) continue;
    ours += value;
    const name = `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`;
    verbs[name] = (verbs[name] ?? 0) + value;
  }
  return { ours, verbs };
}

/** Requests that a role has sent to the API server so far, by its own count. */
export async function requestsOf(role: RoleProcess): Promise<number> {
  return gauge((await role.probe('/metrics')).body, 'rest_client_requests_total');
}
