import { ago } from '../ago.ts';
import { conditionsText } from '../conditions-text.ts';
import {
  controllerRow,
  type Row,
  rowsText,
  type Shown,
  sectionsText,
  sourceRows,
  timeText,
} from '../rows.ts';
import { plainCells, table } from '../table.ts';
import { isExpired, readyCondition, untilText } from './columns.ts';
import type { AnyKey, DeclaredKey } from './kind.ts';

/** Everything about a key, for people. */
export function keyText(key: DeclaredKey, shown: Shown): string {
  return sectionsText(
    rowsText(rowsOf(key, shown), shown),
    hashesText(key.resource, shown),
    conditionsText(key.resource.status?.conditions, shown),
  );
}

function rowsOf(key: DeclaredKey, { now }: Shown): Row[] {
  const { resource } = key;
  const { metadata, spec, status } = resource;
  const ready = readyCondition(resource);
  const api = resource.kind === 'APIKey' ? resource.spec : undefined;
  return [
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Display name', spec.displayName],
    [
      'Ready',
      ready?.status ?? 'unknown: no controller has seen it',
      ready?.status === 'True' ? 'good' : 'warn',
    ],
    ['Message', ready?.message, ready?.status === 'False' ? 'bad' : undefined],
    ['Enabled', spec.enabled ? 'yes' : 'no: it opens nothing', spec.enabled ? undefined : 'warn'],
    ['Being deleted', metadata.deletionTimestamp && `since ${metadata.deletionTimestamp}`, 'warn'],
    ['Source', sourceOf(resource)],
    ['Models', api && (api.models?.join(', ') ?? 'all that its namespace may use')],
    ['Node namespaces', api?.nodeNamespaces?.join(', ')],
    ['Priority', api && `${api.priority} (who comes first where requests wait for a node)`],
    [
      'Conversion',
      api && (api.conversion === 'Strict' ? 'Strict: nothing may be lost' : 'Lossy: losses are reported'),
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
      spec.rotation &&
        [
          `revision ${spec.rotation.revision}`,
          ...(spec.rotation.every === undefined ? [] : [`every ${spec.rotation.every} days`]),
          `${spec.rotation.overlapSeconds} s of overlap`,
          ...(status?.nextRotationTime === undefined ? [] : [`next at ${status.nextRotationTime}`]),
        ].join(', '),
    ],
    ['Added', metadata.creationTimestamp && timeText(metadata.creationTimestamp, now)],
    ...sourceRows(key),
    controllerRow(key),
    ['Hint', status?.hashes === undefined ? spec.hint : undefined],
  ];
}

function sourceOf({ spec }: AnyKey): string {
  return spec.secretName === undefined
    ? 'a hash: the key itself is not kept'
    : `generated into the Secret ${spec.secretName}, entry apiKey`;
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
