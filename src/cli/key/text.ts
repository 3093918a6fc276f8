import { ago } from '../ago.ts';
import { conditionsText } from '../conditions-text.ts';
import { plainCells, type Tint, table } from '../table.ts';
import { isExpired, readyCondition, untilText } from './columns.ts';
import type { AnyKey, DeclaredKey } from './kind.ts';

type Row = readonly [name: string, value: string | undefined, tint?: Tint | undefined];
interface Shown {
  readonly now: Date;
  readonly colour: boolean;
}

/** Everything about a key, for people. */
export function keyText(key: DeclaredKey, shown: Shown): string {
  const rows = rowsOf(key, shown).flatMap(([name, text, tint]) =>
    text === undefined || text === '' ? [] : [[...plainCells(`${name}:`), { text, tint }]],
  );
  const sections = [
    table(rows, shown.colour),
    hashesText(key.resource, shown),
    conditionsText(key.resource.status?.conditions, shown),
  ];
  return sections.filter((section) => section !== '').join('\n');
}

function rowsOf({ resource, source, managedBy, kept }: DeclaredKey, { now }: Shown): Row[] {
  const { metadata, spec, status } = resource;
  const ready = readyCondition(resource);
  const api = resource.kind === 'APIKey' ? resource.spec : undefined;
  return [
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Display name', spec.displayName],
    [
      'Ready',
      ready?.status ?? 'unknown: no controller has looked at it',
      ready?.status === 'True' ? 'good' : 'warn',
    ],
    ['Message', ready?.message, ready?.status === 'False' ? 'bad' : undefined],
    ['Enabled', spec.enabled ? 'yes' : 'no: it opens nothing', spec.enabled ? undefined : 'warn'],
    ['Being deleted', metadata.deletionTimestamp && `since ${metadata.deletionTimestamp}`, 'warn'],
    ['Source', sourceOf(resource)],
    ['Models', api && (api.models?.join(', ') ?? 'all that its namespace may use')],
    ['Node namespaces', api?.nodeNamespaces?.join(', ')],
    [
      'Conversion',
      api && (api.conversion === 'Strict' ? 'Strict: nothing may be lost' : 'Lossy: what is lost is said'),
    ],
    [
      'Expires',
      spec.expirationTime === undefined
        ? 'never'
        : `${spec.expirationTime} (${untilText(spec.expirationTime, now)})`,
      isExpired(resource, now) ? 'bad' : undefined,
    ],
    [
      'Rotation',
      spec.rotation && `revision ${spec.rotation.revision}, ${spec.rotation.overlapSeconds} s of overlap`,
    ],
    [
      'Added',
      metadata.creationTimestamp &&
        `${metadata.creationTimestamp} (${ago(metadata.creationTimestamp, now)} ago)`,
    ],
    ['Declared in', source],
    ['Manifest', kept, 'warn'],
    ['Managed by', managedBy && `${managedBy}; it may undo changes that are made elsewhere`, 'warn'],
    ['Controller', isBehind(resource) ? 'has not seen the last change yet' : undefined, 'warn'],
    ['Hint', status?.hashes === undefined ? spec.hint : undefined],
  ];
}

function sourceOf({ spec }: AnyKey): string {
  return spec.secretName === undefined
    ? 'a hash: the key itself is kept nowhere'
    : `generated into the Secret ${spec.secretName}, entry apiKey`;
}

function isBehind({ metadata, status }: AnyKey): boolean {
  const seen = status?.observedGeneration;
  return seen !== undefined && metadata.generation !== undefined && seen < metadata.generation;
}

function hashesText({ status }: AnyKey, { now, colour }: Shown): string {
  const hashes = status?.hashes ?? [];
  if (hashes.length === 0) return '';
  const rows = hashes.map(({ hint = '-', revision, createdTime, expirationTime, hash }) =>
    plainCells(
      `  ${hint}`,
      revision === undefined ? '-' : String(revision),
      createdTime === undefined ? '-' : `${ago(createdTime, now)} ago`,
      expirationTime === undefined ? '-' : untilText(expirationTime, now),
      hash,
    ),
  );
  return `Keys in force:\n${table([plainCells('  HINT', 'REVISION', 'ISSUED', 'ENDS', 'HASH'), ...rows], colour)}`;
}
