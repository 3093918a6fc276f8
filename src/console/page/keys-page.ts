import type { KeyRow, Place, Row } from '../shapes.ts';
import { setEnabled } from './changing.ts';
import { countOf } from './count.ts';
import { html, useState, type View } from './htm-preact.js';
import { idOf, useLive } from './live-rows.ts';
import { denial, useRights } from './rights.ts';
import { setQuery, useAddress } from './router.ts';
import { When } from './when.ts';
import { type Column, WindowedTable } from './windowed-table.ts';

export type KeyKind = KeyRow['kind'];
export const keysPath = (kind: KeyKind): string => (kind === 'APIKey' ? '/keys' : '/master-keys');
export const keyPath = ({
  kind,
  namespace,
  name,
}: {
  kind: KeyKind;
  namespace: string;
  name: string;
}): string => `${keysPath(kind)}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

const what: Readonly<Record<KeyKind, string>> = {
  APIKey:
    'An API key lets a program or a person call the models: give it to any OpenAI or Anthropic SDK, or try it here under Try it.',
  MasterKey: 'A master key opens /v1/keys, where programs make and revoke API keys, and nothing else.',
};

/** The list of API keys, or of master keys. */
export function KeysPage({ place, kind }: { place: Place; kind: KeyKind }): View {
  const { rows, connection, problem } = useLive();
  const { query } = useAddress();
  const rights = useRights(place.namespace);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const keys = [...rows.values()].filter((row): row is KeyRow => isKey(row, kind));
  const text = (query.get('search') ?? '').toLowerCase();
  const shown = keys.filter((key) =>
    [key.name, key.displayName, key.hint ?? '', key.namespace].some((field) =>
      field.toLowerCase().includes(text),
    ),
  );
  const chosen = shown.filter((key) => ticked.has(idOf(key)));
  const locked = chosen.find((key) => denial(place, rights, kind, 'edit', key) !== undefined);
  const why = locked && denial(place, rights, kind, 'edit', locked);
  const noCreate = denial(place, rights, kind, 'create');
  const off = chosen.length === 0 || why !== undefined;

  return html`<section>
    <div class="head">
      <h1>Keys</h1>
      <a role="button" href=${`${keysPath(kind)}/new`} aria-disabled=${noCreate === undefined ? undefined : 'true'} title=${noCreate}>
        Create ${kind === 'APIKey' ? 'an API key' : 'a master key'}
      </a>
    </div>
    <ul class="tabs">
      <li><a href="/keys" aria-current=${kind === 'APIKey' ? 'page' : undefined}>API keys</a></li>
      <li><a href="/master-keys" aria-current=${kind === 'MasterKey' ? 'page' : undefined}>Master keys</a></li>
    </ul>
    ${problem(kind) && html`<p class="problem" role="alert">${problem(kind)}</p>`}
    ${
      keys.length === 0
        ? connection === 'connecting'
          ? html`<p aria-busy="true">Reading the keys…</p>`
          : html`<article class="empty">
            <h2>No ${kind === 'APIKey' ? 'API' : 'master'} keys yet</h2>
            <p>${what[kind]}</p>
            ${noCreate ? html`<p>${noCreate}</p>` : html`<a role="button" href=${`${keysPath(kind)}/new`}>Create the first one</a>`}
          </article>`
        : html`
          <p class="muted">${what[kind]}</p>
          <div class="filters" role="search">
            <input type="search" placeholder="Search" aria-label="Search keys" value=${query.get('search') ?? ''}
              onInput=${(event: { currentTarget: HTMLInputElement }) => setQuery('search', event.currentTarget.value)} />
            <span class="count" role="status">${countOf(shown.length, keys.length, 'key')}</span>
          </div>
          <div class="bulk" role="toolbar" aria-label="Selected keys">
            <span>${chosen.length} selected</span>
            <button class="outline small" disabled=${off} title=${why} onClick=${() => void setEnabled(chosen, true)}>Enable</button>
            <button class="outline small" disabled=${off} title=${why} onClick=${() => void setEnabled(chosen, false)}>Disable</button>
            ${why && chosen.length > 0 && html`<small>${why}</small>`}
          </div>
          <${WindowedTable} label="Keys" columns=${kind === 'APIKey' ? columns : columns.filter(({ title }) => title !== 'Models')}
            rows=${shown} idOf=${idOf} nameOf=${(key: KeyRow) => key.name} ticked=${ticked} onTick=${setTicked} />`
    }
  </section>`;
}

function isKey(row: Row, kind: KeyKind): boolean {
  return row.kind === kind;
}

const columns: readonly Column<KeyRow>[] = [
  {
    title: 'Name',
    cell: (key) => html`<a class="name" href=${keyPath(key)} title=${key.displayName}>${key.displayName}</a>
      ${key.displayName !== key.name && html` <small class="muted wide">${key.name}</small>`}
      ${key.managedBy && html` <small class="badge" title=${`Managed by ${key.managedBy}`}>managed</small>`}
      ${key.kept && html` <small class="badge" title=${key.kept}>last good<span class="wide"> version</span></small>`}`,
    sort: (key) => key.displayName,
  },
  { title: 'Namespace', cell: (key) => key.namespace, sort: (key) => key.namespace, wide: true },
  {
    title: 'Ready',
    cell: (
      key,
    ) => html`<span class=${`phase phase-${key.ready === 'True' ? 'ready' : 'error'}`} title=${key.message}>
      ${key.ready === 'True' ? 'ready' : key.reason}
    </span>`,
    sort: (key) => key.ready,
  },
  {
    title: 'Enabled',
    cell: (key) => (key.enabled ? 'yes' : html`<strong>no</strong>`),
    sort: (key) => String(key.enabled),
  },
  {
    title: 'Hint',
    cell: (key) => key.hint && html`<code>${key.hint}</code>`,
    sort: (key) => key.hint ?? '',
    wide: true,
  },
  {
    title: 'Models',
    cell: (key) =>
      key.models === undefined
        ? 'all'
        : html`<span title=${key.models.join(', ')}>${key.models.length}</span>`,
    sort: (key) => key.models?.length ?? Number.MAX_SAFE_INTEGER,
    wide: true,
  },
  {
    title: 'Expires',
    cell: (key) => html`<${When} time=${key.expirationTime} />`,
    sort: (key) => key.expirationTime ?? '~',
  },
  {
    title: 'Created',
    cell: (key) => html`<${When} time=${key.created} absent="unknown" />`,
    sort: (key) => key.created ?? '',
    wide: true,
  },
];
