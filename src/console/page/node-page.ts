import type { Detail, NodeRow, Place } from '../shapes.ts';
import { baseOf, setEnabled } from './changing.ts';
import { enabledOf } from './count.ts';
import { DeleteDialog } from './delete-dialog.ts';
import { useDetail } from './detail.ts';
import { html, useEffect, useRef, useState, type View } from './htm-preact.js';
import { NodeForm } from './node-form.ts';
import { NodeModels } from './node-models.ts';
import type { NodeResource } from './node-resource.ts';
import { nodePath, synchronize } from './nodes-page.ts';
import { done, failed } from './notices.ts';
import { denial, useRights } from './rights.ts';
import { go } from './router.ts';
import { Phase } from './status.ts';
import { When } from './when.ts';
import { inWords, labelOf } from './words.ts';

/** Adds a node. */
export function NewNodePage({ place }: { place: Place }): View {
  const rights = useRights(place.namespace);
  return html`<section class="narrow">
    <h1>Add a node</h1>
    <${NodeForm} place=${place} keySet=${false} denied=${denial(place, rights, 'UpstreamNode', 'create')} />
  </section>`;
}

/** One node: its status, its fields, and its models. */
export function NodePage(props: { place: Place; namespace: string; name: string; models: boolean }): View {
  const { place, namespace, name, models } = props;
  const ref = { kind: 'UpstreamNode' as const, namespace, name };
  const rights = useRights(namespace);
  const { detail, problem } = useDetail(ref);
  const [deletes, setDeletes] = useState(false);
  useSyncOutcome(detail);
  if (problem !== undefined) {
    return html`<section><h1>${name}</h1><p class="problem" role="alert">${problem}</p><a href="/nodes">All nodes</a></section>`;
  }
  if (detail === undefined)
    return html`<section><h1>${name}</h1><p aria-busy="true">Reading the node…</p></section>`;
  const row = detail.row as NodeRow;
  const node = detail.resource as NodeResource;
  const denied = denial(place, rights, 'UpstreamNode', 'edit', row);
  const noDelete = denial(place, rights, 'UpstreamNode', 'remove', row);
  const path = nodePath(row);

  return html`<section>
    <nav class="trail" aria-label="Breadcrumb"><a href="/nodes">Nodes</a> / ${row.namespace} / ${row.name}</nav>
    <div class="head">
      <h1>${row.displayName} <${Phase} phase=${row.phase} title=${row.message} />${!row.enabled && html` <span class="badge">disabled</span>`}${row.kept && html` <span class="badge">last good version</span>`}</h1>
      <div class="actions">
        <button class="outline" disabled=${denied !== undefined} title=${denied} onClick=${() => void setEnabled([ref], !row.enabled)}>
          ${row.enabled ? 'Disable' : 'Enable'}
        </button>
        <button class="outline" disabled=${denied !== undefined} title=${denied} aria-busy=${row.syncing ? 'true' : undefined} onClick=${() => {
          if (!row.syncing) void synchronize([row]);
        }}>
          ${row.syncing ? 'Synchronizing…' : 'Synchronize'}
        </button>
        <button class="outline danger" disabled=${noDelete !== undefined} title=${noDelete} onClick=${() => setDeletes(true)}>Delete</button>
      </div>
    </div>
    <ul class="tabs">
      <li><a href=${path} aria-current=${models ? undefined : 'page'}>Settings</a></li>
      <li><a href=${`${path}/models`} aria-current=${models ? 'page' : undefined}>Models (${enabledOf(row.enabledModelCount, row.modelCount)})</a></li>
    </ul>
    ${
      models
        ? html`<${NodeModels} ref_=${ref} row=${row} node=${node} denied=${denied} />`
        : html`<${NodeFacts} row=${row} node=${node} detail=${detail} />
          <${NodeForm}
            place=${place}
            node=${{ ...ref, base: baseOf(detail) }}
            keySet=${node.spec.apiKeySecretRef !== undefined || node.spec.encryptedAPIKey !== undefined}
            denied=${denied}
          />`
    }
    ${
      deletes &&
      html`<${DeleteDialog}
        ref_=${ref}
        version=${detail.version}
        what="Requests go to the other nodes that serve its models; models that only this node serves are no longer available."
        onClose=${() => setDeletes(false)}
        onDeleted=${() => go('/nodes')}
      />`
    }
  </section>`;
}

/** Reports the result of a synchronization when it is done, also of one that somebody else requested. */
function useSyncOutcome(detail: Detail | undefined): void {
  const before = useRef<{ syncing: boolean; models: readonly string[] } | undefined>(undefined);
  const { syncing = false, lastSyncError } = (detail?.row ?? {}) as Partial<NodeRow>;
  const models =
    (detail?.resource as NodeResource | undefined)?.status?.models?.map(({ name }) => name) ?? [];
  useEffect(() => {
    if (detail === undefined) return undefined;
    const was = before.current;
    // Compared with the models at its start: new models may arrive in an earlier event than its end.
    before.current = { syncing, models: was?.syncing && syncing ? was.models : models };
    if (was?.syncing !== true || syncing) return undefined;
    if (lastSyncError !== undefined) failed(`The synchronization failed: ${lastSyncError}`);
    else done(`Synchronized: ${difference(was.models, models)}.`);
    return undefined;
  }, [syncing, models.join('\n')]);
}

function difference(before: readonly string[], after: readonly string[]): string {
  const added = after.filter((name) => !before.includes(name));
  const removed = before.filter((name) => !after.includes(name));
  const told = (what: string, names: readonly string[]): string[] =>
    names.length === 0
      ? []
      : [`${what} ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`];
  const parts = [...told('added', added), ...told('removed', removed)];
  return parts.length === 0 ? 'the same models as before' : parts.join('; ');
}

/** What the controller found: read-only. */
function NodeFacts({ row, node, detail }: { row: NodeRow; node: NodeResource; detail: Detail }): View {
  const { status, spec } = node;
  const secret = spec.apiKeySecretRef;
  const source =
    secret !== undefined
      ? `from the Secret ${secret.name}, entry ${secret.key}`
      : spec.encryptedAPIKey === undefined
        ? undefined
        : 'sealed in the manifest';
  const isRead = status?.apiKeySet === undefined ? source : `cannot be read; it is ${source}`;
  const key = source === undefined ? 'none' : status?.apiKeySet ? `set, ${source}` : isRead;
  return html`<article class="facts">
    <p class=${row.phase === 'error' || row.phase === 'offline' ? 'problem' : ''}><strong>${labelOf(row.reason)}</strong>: ${inWords(row.message)}</p>
    <dl>
      <div><dt>Models</dt><dd>${row.modelCount}, ${row.enabledModelCount} enabled</dd></div>
      <div><dt>Last sync</dt><dd><${When} time=${row.lastSuccessfulSyncTime} /></dd></div>
      ${row.lastSyncError !== undefined && html`<div><dt>Last try</dt><dd class="bad"><${When} time=${row.lastSyncTime} />, failed</dd></div>`}
      <div><dt>Last health check</dt><dd><${When} time=${status?.lastHealthCheckTime} />${status?.lastHealthCheckTime !== undefined && html` <small class="muted">written at most every 5 minutes while nothing changes</small>`}</dd></div>
      <div><dt>Date added</dt><dd><${When} time=${node.metadata.creationTimestamp} absent="unknown" /></dd></div>
      <div><dt>API key</dt><dd>${key}</dd></div>
      ${row.managedBy && html`<div><dt>Managed by</dt><dd>${row.managedBy}</dd></div>`}
      ${detail.source && html`<div class="broad"><dt>Declared in</dt><dd>${detail.source}</dd></div>`}
    </dl>
    ${row.lastSyncError && html`<p class="problem">Last synchronization failed: ${inWords(row.lastSyncError)}</p>`}
    <details>
      <summary>Conditions and manifest</summary>
      <table>
        <thead><tr><th>Condition</th><th>Status</th><th>Reason</th><th>Message</th><th>Since</th></tr></thead>
        <tbody>${(status?.conditions ?? []).map(
          ({ type, status: is, reason, message, lastTransitionTime }) =>
            html`<tr><td>${labelOf(type)}</td><td>${is}</td><td>${labelOf(reason)}</td><td>${inWords(message)}</td><td><${When} time=${lastTransitionTime} /></td></tr>`,
        )}</tbody>
      </table>
      <pre tabindex="0" aria-label="Manifest">${detail.manifest}</pre>
    </details>
  </article>`;
}
