import type { Declared } from '../cli/edit/declarations.ts';
import { oneLine } from '../cli/table.ts';
import { conditionOf } from '../resources/condition-of.ts';
import { lastSuccessfulSync } from '../resources/last-successful-sync.ts';
import { nodeCondition } from '../resources/node-condition.ts';
import { syncRequestAnnotation } from '../resources/sync-request.ts';
import type { ResourceOf } from '../store/store.ts';
import type { KeyRow, NodeRow, PageKind, Row } from './shapes.ts';

/** A resource as the lists of the page show it. */
export function rowOf(declared: Declared<PageKind>): Row {
  const { resource, managedBy, kept } = declared;
  const row = resource.kind === 'UpstreamNode' ? nodeRow(resource, managedBy) : keyRow(resource, managedBy);
  return kept === undefined ? row : { ...row, kept };
}

function nodeRow(
  { metadata, spec, status }: ResourceOf['UpstreamNode'],
  managedBy: string | undefined,
): NodeRow {
  const condition = nodeCondition(status?.conditions);
  const asked = metadata.annotations?.[syncRequestAnnotation];
  return {
    kind: 'UpstreamNode',
    namespace: metadata.namespace,
    name: metadata.name,
    displayName: oneLine(spec.displayName ?? metadata.name),
    url: spec.baseURL,
    enabled: spec.enabled,
    phase: status?.phase ?? 'idle',
    reason: condition?.reason ?? 'Pending',
    message: condition?.message ?? 'The controller has not looked at it yet.',
    modelCount: status?.modelCount ?? 0,
    enabledModelCount: status?.enabledModelCount ?? 0,
    lastSyncTime: status?.lastSyncTime,
    lastSuccessfulSyncTime: lastSuccessfulSync(status),
    lastSyncError: status?.lastSyncError,
    priority: spec.priority,
    weight: spec.weight,
    managedBy,
    generation: metadata.generation ?? 0,
    syncing: asked !== undefined && asked !== status?.lastHandledSyncRequest,
  };
}

function keyRow(
  { kind, metadata, spec, status }: ResourceOf['APIKey' | 'MasterKey'],
  managedBy: string | undefined,
): KeyRow {
  const ready = conditionOf(status?.conditions, 'Ready');
  return {
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    displayName: oneLine(spec.displayName ?? metadata.name),
    enabled: spec.enabled,
    ready: ready?.status ?? 'Unknown',
    reason: ready?.reason ?? 'Pending',
    message: ready?.message ?? 'The controller has not looked at it yet.',
    hint: spec.hint ?? status?.hashes?.[0]?.hint,
    models: 'models' in spec ? spec.models : undefined,
    expirationTime: spec.expirationTime,
    secretName: spec.secretName,
    revision: spec.rotation?.revision ?? 0,
    created: metadata.creationTimestamp,
    managedBy,
    generation: metadata.generation ?? 0,
  };
}
