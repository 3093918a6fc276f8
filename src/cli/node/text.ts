import { lastSuccessfulSync } from '../../resources/last-successful-sync.ts';
import { nodeCondition } from '../../resources/node-condition.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { realModels, servedNames } from '../../store/node-models.ts';
import { conditionsText } from '../conditions-text.ts';
import type { Declared } from '../edit/declarations.ts';
import {
  controllerRow,
  type Row,
  rowsText,
  type Shown,
  sectionsText,
  sourceRows,
  timeText,
} from '../rows.ts';
import { oneLine, plainCells, table, tinted } from '../table.ts';
import { tintOfPhase } from './columns.ts';

/** Everything about a node, for people: what is declared, what was found, conditions, models. */
export function nodeText(node: Declared<'UpstreamNode'>, shown: Shown): string {
  const rows = [...identity(node, shown), ...connection(node.resource), ...found(node, shown)];
  return sectionsText(
    rowsText(rows, shown),
    conditionsText(node.resource.status?.conditions, shown),
    modelsText(node.resource, shown),
  );
}

function identity(node: Declared<'UpstreamNode'>, { now }: Shown): Row[] {
  const { metadata, spec, status } = node.resource;
  const phase = status?.phase ?? 'unknown';
  const shownCondition = nodeCondition(status?.conditions);
  return [
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Display name', spec.displayName],
    ['Status', phase, tintOfPhase[phase]],
    ['Message', shownCondition?.message, shownCondition?.status === 'False' ? 'bad' : undefined],
    ['Enabled', spec.enabled ? 'yes' : 'no: it gets no requests', spec.enabled ? undefined : 'warn'],
    ['Being deleted', metadata.deletionTimestamp && `since ${metadata.deletionTimestamp}`, 'warn'],
    ['Added', metadata.creationTimestamp && timeText(metadata.creationTimestamp, now)],
    ...sourceRows(node),
  ];
}

function connection({ spec, status }: UpstreamNode): Row[] {
  const { sync, healthCheck, timeouts, tls } = spec;
  return [
    ['URL', spec.baseURL],
    ['API key', keyText(spec, status?.apiKeySet)],
    ['Authentication', spec.authentication],
    ['Priority', `${spec.priority} (0 to 100, higher is preferred)`],
    ['Weight', `${spec.weight} (share within one priority)`],
    [
      'Native formats',
      spec.nativeFormats?.join(', ') || 'none; other formats are converted to chat-completions',
    ],
    ['Callers from', callersText(spec.callerNamespaces)],
    [
      'Sync',
      sync.discovery === 'Never'
        ? 'never; the manual models alone'
        : `every ${sync.intervalSeconds} s; new models start ${sync.newModels.toLowerCase()}`,
    ],
    ['Models kept', sync.models?.include?.join(', ')],
    ['Models left out', sync.models?.exclude?.join(', ')],
    [
      'Health check',
      healthCheck.mode === 'None'
        ? 'none'
        : `every ${healthCheck.intervalSeconds} s, at most ${healthCheck.timeoutSeconds} s each; offline after ${healthCheck.failureThreshold} without an answer`,
    ],
    [
      'Timeouts',
      `connect ${timeouts.connectSeconds} s, first byte ${timeouts.firstByteSeconds} s, idle ${timeouts.idleSeconds} s, total ${timeouts.totalSeconds} s`,
    ],
    ['Concurrency', concurrencyText(spec)],
    [
      'Headers',
      spec.headers
        ?.map(({ name, secretRef }) =>
          secretRef === undefined ? name : `${name} (Secret ${secretRef.name}/${secretRef.key})`,
        )
        .join(', '),
    ],
    [
      'TLS',
      [tls?.caBundle && 'own authorities', tls?.serverName && `name ${tls.serverName}`]
        .filter(Boolean)
        .join(', '),
    ],
    [
      'Dialect',
      Object.entries(spec.dialect ?? {})
        .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join('|') : String(value)}`)
        .join(', '),
    ],
  ];
}

function concurrencyText({ concurrency }: UpstreamNode['spec']): string | undefined {
  if (concurrency === undefined) return undefined;
  const { maxRequests, queue } = concurrency;
  const waiting =
    queue.maxRequests === 0 ? 'none waits' : `${queue.maxRequests} may wait for ${queue.timeoutSeconds} s`;
  return `${maxRequests} requests of each gateway at one time; ${waiting}`;
}

/** The time of the last check. The note says why it may be minutes old, though checks may be seconds apart. */
function checkText(time: string | undefined, now: Date): string {
  const text = timeText(time, now);
  return time === undefined ? text : `${text}; written at most every 5 minutes while nothing changes`;
}

function found(node: Declared<'UpstreamNode'>, { now }: Shown): Row[] {
  const { status } = node.resource;
  if (status === undefined) return [['Found', 'nothing yet: no controller has seen it', 'warn']];
  return [
    ['Last sync', timeText(lastSuccessfulSync(status), now)],
    ['Last try', status.lastSyncError === undefined ? undefined : timeText(status.lastSyncTime, now), 'bad'],
    ['Last sync error', status.lastSyncError, 'bad'],
    ['Last health check', checkText(status.lastHealthCheckTime, now)],
    ['Last asked to sync', status.lastHandledSyncRequest],
    controllerRow(node),
  ];
}

function modelsText(node: UpstreamNode, { colour }: Shown): string {
  const { spec, status } = node;
  const names = servedNames(node);
  const wishes = new Map(spec.models?.map((entry) => [entry.name, entry]));
  const missed = new Map(status?.models?.map(({ name, missedSyncs }) => [name, missedSyncs]));
  const manual = new Set(spec.manualModels);
  const real = [...realModels(node)].sort(([one], [other]) => (one < other ? -1 : 1));
  const rows = real.map(([name, { enabled }]) => {
    const aliases = wishes.get(name)?.aliases ?? [];
    const gone = missed.get(name) ?? 0;
    return [
      ...plainCells(`  ${name}`),
      { text: enabled ? 'enabled' : 'disabled', tint: enabled ? undefined : ('faint' as const) },
      ...plainCells(
        manual.has(name) ? 'manual' : 'discovered',
        aliases.filter((alias) => names.get(alias)?.some(({ model }) => model === name)).join(', ') || '-',
        gone === 0 ? '' : `not listed in the last ${gone === 1 ? 'sync' : `${gone} syncs`}`,
      ),
    ];
  });
  const unknown = [...wishes.keys()].filter((name) => !names.has(name));
  const notes = [
    ...(status?.modelsTruncated === true
      ? ['  The node lists more than a status can hold; the rest was left out.']
      : []),
    ...(unknown.length === 0
      ? []
      : [`  Wishes for models that the node does not have: ${oneLine(unknown.join(', '))}`]),
  ].map((note) => `${tinted(note, 'warn', colour)}\n`);
  const enabled = real.filter(([, served]) => served.enabled).length;
  const title = `Models: ${real.length}${enabled === real.length ? '' : `, ${enabled} enabled`}\n`;
  if (rows.length === 0) return [title, ...notes].join('');
  const head = plainCells('  NAME', 'STATE', 'SOURCE', 'ALIASES', '');
  return [title, table([head, ...rows], colour), ...notes].join('');
}

function keyText(
  { encryptedAPIKey, apiKeySecretRef }: UpstreamNode['spec'],
  isSet: boolean | undefined,
): string {
  const found = isSet === undefined ? '' : isSet ? ', usable' : ', NOT usable';
  if (encryptedAPIKey !== undefined) return `set, sealed to the gateway${found}`;
  if (apiKeySecretRef === undefined) return 'none';
  return `set, from the Secret ${apiKeySecretRef.name}, entry ${apiKeySecretRef.key}${found}`;
}

function callersText({ from, names }: UpstreamNode['spec']['callerNamespaces']): string {
  if (from === 'Same') return "the node's own namespace";
  return from === 'All' ? 'every namespace' : `its own namespace and ${(names ?? []).join(', ')}`;
}
