import { eventually } from './eventually.ts';
import type { Stage } from './stage.ts';

/**
 * Makes a node and waits until both roles have followed: the controller counts its models, and the gateway is `serving` the
 * model, which is called as the node. Then the node goes. Each wait takes `limitMs` at most.
 */
export async function rolesFollow(
  stage: Stage,
  name: string,
  serving: () => Promise<boolean>,
  limitMs: number,
): Promise<void> {
  await stage.resources.create('UpstreamNode', stage.home, name, {
    baseURL: 'http://127.0.0.1:9/v1',
    manualModels: [name],
    sync: { discovery: 'Never' },
    healthCheck: { mode: 'None' },
  });
  await stage.until(name, 'UpstreamNode', name, ({ status }) => status?.['modelCount'] === 1, {
    timeoutMs: limitMs,
  });
  await eventually(`the gateway knows ${name}`, serving, limitMs);
  await stage.resources.remove('UpstreamNode', stage.home, name);
}
