import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { oneLine } from '../table.ts';

/** A requested sync: the node as it was before, and the annotation's value. */
export interface AskedSync {
  readonly before: UpstreamNode;
  readonly request: string;
}

export interface SyncOutcome {
  readonly failed: boolean;
  /** Follows the node's name: `synced: 12 models, 1 added (gpt-5)`. */
  readonly text: string;
}

/** Most names of added, removed or missing models that are listed. */
const mostNames = 20;

/** The result of a sync; undefined until the controller has acted on it. `now` is undefined for a deleted node. */
export function syncOutcome(
  { before, request }: AskedSync,
  now: UpstreamNode | undefined,
): SyncOutcome | undefined {
  if (now === undefined || now.metadata.uid !== before.metadata.uid) {
    return { failed: true, text: 'was deleted before it was synced.' };
  }
  const { status } = now;
  if (status?.lastHandledSyncRequest !== request) return undefined;
  if (status.lastSyncError !== undefined)
    return { failed: true, text: `sync failed: ${oneLine(status.lastSyncError)}` };
  const names = modelNames(now);
  const known = modelNames(before);
  const missing = (status.models ?? [])
    .filter(({ missedSyncs = 0 }) => missedSyncs > 0)
    .map(({ name }) => name);
  const parts = [
    `${names.size} model${names.size === 1 ? '' : 's'}`,
    listed(
      'added',
      [...names].filter((name) => !known.has(name)),
    ),
    listed(
      'removed',
      [...known].filter((name) => !names.has(name)),
    ),
    listed('not listed any more, removed after three such syncs', missing),
  ];
  return { failed: false, text: `synced: ${parts.filter((part) => part !== '').join(', ')}` };
}

function modelNames({ status }: UpstreamNode): Set<string> {
  return new Set(status?.models?.map(({ name }) => name));
}

function listed(what: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const more = names.length > mostNames ? `, and ${names.length - mostNames} more` : '';
  return `${names.length} ${what} (${names.slice(0, mostNames).map(oneLine).join(', ')}${more})`;
}
