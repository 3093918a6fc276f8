import type { ApiKey } from './api-key.ts';
import type { MasterKey } from './master-key.ts';
import type { Secret } from './secret.ts';
import type { UpstreamNode } from './upstream-node.ts';

/** An object of any kind that a manifest may declare. */
export type Resource = UpstreamNode | ApiKey | MasterKey | Secret;
