import type { NodeRow, Place, Row } from '../shapes.ts';
import { change, setEnabled } from './changing.ts';
import { countOf, enabledOf } from './count.ts';
import { html, useMemo, useState, type View } from './htm-preact.js';
import { idOf, useLive } from './live-rows.ts';
import { done, failed } from './notices.ts';
import { denial, useRights } from './rights.ts';
import { setQuery, useAddress } from './router.ts';
import { Phase } from './status.ts';
import { When } from './when.ts';
import { type Column, WindowedTable } from './windowed-table.ts';

/** For people who have never seen one. */
const what =
  'A node is a connection to a server of models: OpenAI, Anthropic, Ollama, vLLM, or any other that speaks the OpenAI API.';
const phases = ['ready', 'idle', 'error', 'offline'] as const;
export const nodePath = ({ namespace, name }: { namespace: string; name: string }): string =>
  `/nodes/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

/** Requests a synchronization of several nodes. The row of each shows when it is done. */
export async function synchronize(nodes: readonly NodeRow[]): Promise<void> {
  const settled = await Promise.allSettled(
    nodes.map((node) => change(node, { sync: true }, { showYaml: false })),
  );
  for (const result of settled) if (result.status === 'rejected') failed(result.reason);
  const asked = settled.filter(({ status }) => status === 'fulfilled').length;
  if (asked > 0) done(asked === 1 ? 'Asked for a synchronization.' : `Asked for ${asked} synchronizations.`);
}

/** The list of nodes: live, searched, filtered, sorted; several can be changed at once. */
export function NodesPage({ place }: { place: Place }): View {
  const { rows, connection, problem } = useLive();
  const { query } = useAddress();
  const rights = useRights(place.namespace);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const nodes = [...rows.values()].filter(isNode);
  const [text, phase, namespace] = [
    query.get('search') ?? '',
    query.get('status') ?? '',
    query.get('namespace') ?? '',
  ];
  const shown = nodes.filter((node) => matches(node, text, phase, namespace));
  const namespaces = [...new Set(nodes.map((node) => node.namespace))].sort();
  const chosen = shown.filter((node) => ticked.has(idOf(node)));
  const locked = chosen.find((node) => denial(place, rights, 'UpstreamNode', 'edit', node) !== undefined);
  const why = locked && denial(place, rights, 'UpstreamNode', 'edit', locked);
  const noCreate = denial(place, rights, 'UpstreamNode', 'create');
  const columns = useMemo(() => columnsOf(namespaces.length > 1), [namespaces.length > 1]);

  return html`<section>
    <div class="head">
      <h1>Nodes</h1>
      <a role="button" href="/nodes/new" aria-disabled=${noCreate === undefined ? undefined : 'true'} title=${noCreate}>Add a node</a>
    </div>
    ${problem('UpstreamNode') && html`<p class="problem" role="alert">${problem('UpstreamNode')}</p>`}
    ${
      nodes.length === 0
        ? connection === 'connecting'
          ? html`<p aria-busy="true">Reading the nodes…</p>`
          : html`<${FirstNode} noCreate=${noCreate} />`
        : html`
          <p class="muted">${what}</p>
          <div class="filters" role="search">
            <input
              type="search"
              placeholder="Search name or URL"
              aria-label="Search name or URL"
              value=${text}
              onInput=${(event: { currentTarget: HTMLInputElement }) => setQuery('search', event.currentTarget.value)}
            />
            <select aria-label="Status" onChange=${(event: { currentTarget: HTMLSelectElement }) => setQuery('status', event.currentTarget.value)}>
              <option value="">Any status</option>
              ${phases.map((name) => html`<option value=${name} selected=${name === phase}>${name}</option>`)}
              <option value="disabled" selected=${phase === 'disabled'}>disabled</option>
            </select>
            ${
              namespaces.length > 1 &&
              html`<select aria-label="Namespace" onChange=${(event: { currentTarget: HTMLSelectElement }) => setQuery('namespace', event.currentTarget.value)}>
                <option value="">Any namespace</option>
                ${namespaces.map((name) => html`<option value=${name} selected=${name === namespace}>${name}</option>`)}
              </select>`
            }
            <span class="count" role="status">${countOf(shown.length, nodes.length, 'node')}</span>
          </div>
          <div class="bulk" role="toolbar" aria-label="Selected nodes">
            <span>${chosen.length} selected</span>
            <button class="outline small" disabled=${chosen.length === 0 || why !== undefined} title=${why} onClick=${() => void setEnabled(chosen, true)}>Enable</button>
            <button class="outline small" disabled=${chosen.length === 0 || why !== undefined} title=${why} onClick=${() => void setEnabled(chosen, false)}>Disable</button>
            <button class="outline small" disabled=${chosen.length === 0 || why !== undefined} title=${why} onClick=${() => void synchronize(chosen)}>Synchronize</button>
            ${why && chosen.length > 0 && html`<small>${why}</small>`}
          </div>
          <${WindowedTable}
            label="Nodes"
            columns=${columns}
            rows=${shown}
            idOf=${idOf}
            nameOf=${(node: NodeRow) => node.name}
            ticked=${ticked}
            onTick=${setTicked}
          />`
    }
  </section>`;
}

function FirstNode({ noCreate }: { noCreate: string | undefined }): View {
  return html`<article class="empty">
    <h2>No nodes yet</h2>
    <p>
      ${what} The first one takes three fields: a name, its address, and its API key.
    </p>
    ${noCreate ? html`<p>${noCreate}</p>` : html`<a role="button" href="/nodes/new">Add the first node</a>`}
  </article>`;
}

function isNode(row: Row): row is NodeRow {
  return row.kind === 'UpstreamNode';
}

function matches(node: NodeRow, text: string, phase: string, namespace: string): boolean {
  if (namespace !== '' && node.namespace !== namespace) return false;
  if (phase === 'disabled' ? node.enabled : phase !== '' && node.phase !== phase) return false;
  const wanted = text.toLowerCase();
  return [node.name, node.displayName, node.url].some((field) => field.toLowerCase().includes(wanted));
}

function columnsOf(several: boolean): readonly Column<NodeRow>[] {
  const namespace: Column<NodeRow> = {
    title: 'Namespace',
    cell: (node) => node.namespace,
    sort: (node) => node.namespace,
    wide: true,
  };
  return [
    {
      title: 'Name',
      cell: (
        node,
      ) => html`<a class="name" href=${nodePath(node)} title=${node.displayName}>${node.displayName}</a>
        ${node.displayName !== node.name && html` <small class="muted wide">${node.name}</small>`}
        ${node.managedBy && html` <small class="badge" title=${`Managed by ${node.managedBy}`}>managed</small>`}
        ${node.kept && html` <small class="badge" title=${node.kept}>last good<span class="wide"> version</span></small>`}`,
      sort: (node) => node.displayName,
    },
    ...(several ? [namespace] : []),
    {
      title: 'URL',
      cell: (node) => html`<span class="url" title=${node.url}>${node.url}</span>`,
      sort: (node) => node.url,
      wide: true,
    },
    {
      title: 'Status',
      cell: (node) => html`<${Phase} phase=${node.phase} title=${node.message} />`,
      sort: (node) => node.phase,
    },
    {
      title: 'Models',
      cell: (node) =>
        html`<a href=${`${nodePath(node)}/models`} title=${`${node.enabledModelCount} of ${node.modelCount} enabled`}>${enabledOf(node.enabledModelCount, node.modelCount)}</a>`,
      sort: (node) => node.modelCount,
      numeric: true,
    },
    {
      title: 'Last sync',
      cell: (node) =>
        node.syncing
          ? html`<span aria-busy="true">now</span>`
          : html`<${When} time=${node.lastSuccessfulSyncTime} />
              ${node.lastSyncError !== undefined && html` <small class="bad" title=${node.lastSyncError}>last try failed</small>`}`,
      sort: (node) => node.lastSuccessfulSyncTime ?? '',
      wide: true,
    },
    {
      title: 'Enabled',
      cell: (node) => (node.enabled ? 'yes' : html`<strong>no</strong>`),
      sort: (node) => String(node.enabled),
    },
    {
      title: 'Priority',
      cell: (node) => node.priority,
      sort: (node) => node.priority,
      numeric: true,
      wide: true,
    },
    { title: 'Weight', cell: (node) => node.weight, sort: (node) => node.weight, numeric: true, wide: true },
  ];
}
