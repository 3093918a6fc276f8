import { conditionOf } from '../../resources/condition-of.ts';
import { timeOf } from '../../resources/time.ts';
import { ago } from '../ago.ts';
import type { Column } from '../output.ts';
import type { Tint } from '../table.ts';
import type { AnyKey, DeclaredKey } from './kind.ts';

const mostShown = 40;

/** The columns of `keys` and `masterkeys`. */
export function keyColumns(options: {
  readonly namespaces: boolean;
  readonly models: boolean;
  readonly now: Date;
}): readonly Column<DeclaredKey>[] {
  const { namespaces, now } = options;
  const columns: (Column<DeclaredKey> | undefined)[] = [
    namespaces ? { title: 'NAMESPACE', cell: ({ resource }) => resource.metadata.namespace } : undefined,
    { title: 'NAME', cell: ({ resource }) => resource.metadata.name },
    { title: 'READY', cell: ({ resource }) => readyOf(resource), tint: ({ resource }) => tintOf(resource) },
    {
      title: 'ENABLED',
      cell: ({ resource }) => String(resource.spec.enabled),
      tint: ({ resource }) => (resource.spec.enabled ? undefined : 'faint'),
    },
    { title: 'HINT', cell: ({ resource }) => hintOf(resource) },
    options.models ? { title: 'MODELS', cell: ({ resource }) => modelsOf(resource) } : undefined,
    {
      title: 'EXPIRES',
      cell: ({ resource }) => untilText(resource.spec.expirationTime, now),
      tint: ({ resource }) => (isExpired(resource, now) ? 'bad' : undefined),
    },
    { title: 'AGE', cell: ({ resource }) => ageOf(resource, now) },
    {
      title: 'DISPLAY NAME',
      cell: ({ resource }) => resource.spec.displayName ?? resource.metadata.name,
      wide: true,
    },
    { title: 'SECRET', cell: ({ resource }) => resource.spec.secretName ?? '-', wide: true },
    {
      title: 'MESSAGE',
      cell: ({ resource, kept }) => kept ?? readyCondition(resource)?.message ?? '',
      wide: true,
    },
  ];
  return columns.filter((column) => column !== undefined);
}

/** The condition `Ready`; undefined until a controller has seen the key. */
export function readyCondition({ status }: AnyKey) {
  return conditionOf(status?.conditions, 'Ready');
}

/** How long until a time, as ages are shown: `in 12d`, `3h ago`, `never` for none. */
export function untilText(time: string | undefined, now: Date): string {
  const end = timeOf(time);
  if (time === undefined || end === undefined) return time ?? 'never';
  if (end <= now.getTime()) return `${ago(time, now)} ago`;
  return `in ${ago(now.toISOString(), new Date(end))}`;
}

/** Whether the key has expired. */
export function isExpired({ spec }: AnyKey, now: Date): boolean {
  return (timeOf(spec.expirationTime) ?? Number.POSITIVE_INFINITY) <= now.getTime();
}

/** The part of the key text that shows people which one it is. */
function hintOf({ spec, status }: AnyKey): string {
  return status?.hashes?.[0]?.hint ?? spec.hint ?? '-';
}

function readyOf(key: AnyKey): string {
  return readyCondition(key)?.status ?? 'Unknown';
}

function tintOf(key: AnyKey): Tint | undefined {
  const status = readyCondition(key)?.status;
  if (!key.spec.enabled) return 'faint';
  return status === 'True' ? 'good' : status === 'False' ? 'bad' : 'warn';
}

function modelsOf(key: AnyKey): string {
  if (key.kind === 'MasterKey' || key.spec.models === undefined) return 'all';
  const { models } = key.spec;
  const shown: string[] = [];
  for (const name of models) {
    if ([...shown, name].join(',').length > mostShown) break;
    shown.push(name);
  }
  const rest = models.length - shown.length;
  if (shown.length === 0) return String(models.length);
  return rest === 0 ? shown.join(',') : `${shown.join(',')},+${rest}`;
}

function ageOf({ metadata }: AnyKey, now: Date): string {
  return metadata.creationTimestamp === undefined ? '-' : ago(metadata.creationTimestamp, now);
}
