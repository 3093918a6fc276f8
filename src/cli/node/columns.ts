import { lastSuccessfulSync } from '../../resources/last-successful-sync.ts';
import { nodeCondition } from '../../resources/node-condition.ts';
import { ago } from '../ago.ts';
import type { Declared } from '../edit/declarations.ts';
import type { Column } from '../output.ts';
import type { Tint } from '../table.ts';

/** How phases are coloured. */
export const tintOfPhase: Readonly<Record<string, Tint>> = {
  ready: 'good',
  error: 'bad',
  offline: 'bad',
  idle: 'warn',
};

/** The columns of `nodes`: those that the CRD prints, with the names of the console. */
export function nodeColumns(options: {
  readonly namespaces: boolean;
  readonly now: Date;
}): readonly Column<Declared<'UpstreamNode'>>[] {
  const columns: Column<Declared<'UpstreamNode'>>[] = [
    { title: 'NAME', cell: ({ resource }) => resource.metadata.name },
    { title: 'URL', cell: ({ resource }) => resource.spec.baseURL },
    {
      title: 'STATUS',
      cell: ({ resource }) => statusOf(resource.status?.phase, resource.spec.enabled),
      tint: ({ resource }) =>
        resource.spec.enabled ? tintOfPhase[resource.status?.phase ?? 'idle'] : 'faint',
    },
    { title: 'MODELS', cell: ({ resource }) => modelCounts(resource.status) },
    { title: 'LAST SYNC', cell: ({ resource }) => ago(lastSuccessfulSync(resource.status), options.now) },
    { title: 'ENABLED', cell: ({ resource }) => String(resource.spec.enabled), wide: true },
    { title: 'PRIORITY', cell: ({ resource }) => String(resource.spec.priority), wide: true },
    { title: 'WEIGHT', cell: ({ resource }) => String(resource.spec.weight), wide: true },
    {
      title: 'DISPLAY NAME',
      cell: ({ resource }) => resource.spec.displayName ?? resource.metadata.name,
      wide: true,
    },
    { title: 'MESSAGE', cell: messageOf, wide: true },
  ];
  if (!options.namespaces) return columns;
  return [{ title: 'NAMESPACE', cell: ({ resource }) => resource.metadata.namespace }, ...columns];
}

function statusOf(phase: string | undefined, enabled: boolean): string {
  const shown = phase ?? 'unknown';
  return enabled ? shown : `${shown},disabled`;
}

/** `12`, or `8/12` if some are disabled. */
function modelCounts(status: Declared<'UpstreamNode'>['resource']['status']): string {
  const { modelCount, enabledModelCount } = status ?? {};
  if (modelCount === undefined) return '-';
  return enabledModelCount === undefined || enabledModelCount === modelCount
    ? String(modelCount)
    : `${enabledModelCount}/${modelCount}`;
}

/** Why the manifest is not in force; else why the node is not ready or not reachable, or the result of its last check. */
function messageOf({ resource, kept }: Declared<'UpstreamNode'>): string {
  if (kept !== undefined) return kept;
  const { conditions, lastSyncError } = resource.status ?? {};
  return nodeCondition(conditions)?.message ?? lastSyncError ?? '';
}
