import type { NodeRow } from '../shapes.ts';
import { change } from './changing.ts';
import { countOf } from './count.ts';
import { html, useState, type View } from './htm-preact.js';
import { LeaveOutDialog } from './leave-out-dialog.ts';
import type { NodeResource } from './node-resource.ts';
import { done, failed } from './notices.ts';
import { setQuery, useAddress } from './router.ts';
import { type FieldEdit, type Ref, Refusal } from './server.ts';
import { type Column, WindowedTable } from './windowed-table.ts';
import { inWords } from './words.ts';

interface Model {
  readonly name: string;
  readonly enabled: boolean;
  readonly source: string;
  readonly aliases: readonly string[];
  readonly missedSyncs: number;
}

const columns: readonly Column<Model>[] = [
  {
    title: 'Model',
    cell: ({ name }) => html`<span class="url" title=${name}>${name}</span>`,
    sort: ({ name }) => name,
  },
  {
    title: 'Enabled',
    cell: ({ enabled }) => (enabled ? 'yes' : html`<strong>no</strong>`),
    sort: ({ enabled }) => String(enabled),
  },
  {
    title: 'Source',
    cell: ({ source, missedSyncs }) =>
      missedSyncs > 0 ? html`${source} <small class="muted">not listed ${missedSyncs}×</small>` : source,
    sort: ({ source }) => source,
    wide: true,
  },
  {
    title: 'Aliases',
    cell: ({ aliases }) => aliases.join(', '),
    sort: ({ aliases }) => aliases.join(),
    wide: true,
  },
];

/** The models of a node: filter, tick, enable or disable. */
export function NodeModels(props: {
  readonly ref_: Ref;
  readonly row: NodeRow;
  readonly node: NodeResource;
  readonly denied: string | undefined;
}): View {
  const { ref_: ref, row, node, denied } = props;
  const { query } = useAddress();
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [leaving, setLeaving] = useState<{ readonly why: string | undefined } | undefined>(undefined);
  const text = (query.get('filter') ?? '').toLowerCase();
  const models = modelsOf(node);
  const enabledNow = new Map(models.map(({ name, enabled }) => [name, enabled]));
  const shown = models.filter(
    ({ name, aliases, source }) =>
      name.toLowerCase().includes(text) ||
      source.toLowerCase() === text ||
      aliases.some((alias) => alias.toLowerCase().includes(text)),
  );
  const chosen = shown.filter(({ name }) => ticked.has(name)).map(({ name }) => name);
  const set = async (asked: readonly string[], enabled: boolean): Promise<void> => {
    // Of those that are so already nothing is changed, nor undone.
    const names = asked.filter((name) => enabledNow.get(name) !== enabled);
    if (names.length === 0) {
      done(`${asked.length === 1 ? 'It is' : 'They are'} ${enabled ? 'enabled' : 'disabled'} already.`);
      return;
    }
    await apply(names, enabled);
  };
  const apply = async (names: readonly string[], enabled: boolean): Promise<void> => {
    try {
      if ((await change(ref, { models: { names, enabled } })) === undefined) return;
      const what = names.length === 1 ? names[0] : `${names.length} models`;
      done(`${enabled ? 'Enabled' : 'Disabled'} ${what}.`, () => void apply(names, !enabled));
      setTicked(new Set());
    } catch (error) {
      const isTooMany = error instanceof Refusal && error.causes.some(({ field }) => field === 'spec.models');
      if (isTooMany && !enabled) setLeaving({ why: error.message });
      else failed(error);
    }
  };
  const patterns = node.spec.sync?.models ?? {};
  const { include = [], exclude = [] } = patterns;
  const setExclude = async (next: readonly string[], said: string): Promise<void> => {
    const edit: FieldEdit =
      next.length > 0
        ? { path: ['spec', 'sync', 'models', 'exclude'], value: next }
        : { path: ['spec', 'sync', 'models', ...(include.length > 0 ? ['exclude'] : [])], remove: true };
    try {
      if ((await change(ref, { edits: [edit] })) !== undefined)
        done(said, () => void setExclude(exclude, 'Undone.'));
    } catch (error) {
      failed(error);
    }
  };
  const leaveOut = (pattern: string): void => {
    setLeaving(undefined);
    setTicked(new Set());
    void setExclude([...new Set([...exclude, pattern])], `Left out ${pattern}.`);
  };
  const filters = html`${
    (include.length > 0 || exclude.length > 0) &&
    html`<div class="bulk">
      ${include.length > 0 && html`<span>Kept are only: ${include.map((pattern) => html`<code>${pattern}</code> `)}</span>`}
      ${exclude.length > 0 && html`<span>Left out by pattern:</span>`}
      ${exclude.map(
        (
          pattern,
        ) => html`<button class="outline small" disabled=${denied !== undefined} title=${denied ?? 'Let these models in again'}
          aria-label=${`Let in ${pattern}`} onClick=${() =>
            void setExclude(
              exclude.filter((other) => other !== pattern),
              `Let in ${pattern}.`,
            )}><code>${pattern}</code> ×</button>`,
      )}
    </div>`
  }
    ${
      leaving &&
      html`<${LeaveOutDialog} why=${leaving.why} proposed=${text === '' ? '' : `*${query.get('filter')}*`}
      onClose=${() => setLeaving(undefined)} onPattern=${leaveOut} />`
    }`;
  const off = chosen.length === 0 || denied !== undefined;
  if (models.length === 0) {
    return html`<article class="empty">
      <h2>No models yet</h2>
      <p>${inWords(row.message)}</p>
      ${filters}
      <p>Synchronize asks the node for its list. A node that lists none needs a manual list, under Settings.</p>
    </article>`;
  }
  return html`<div>
    ${filters}
    <div class="filters" role="search">
      <input
        type="search"
        placeholder="Filter by name, alias or source"
        aria-label="Filter by name, alias or source"
        value=${query.get('filter') ?? ''}
        onInput=${(event: { currentTarget: HTMLInputElement }) => setQuery('filter', event.currentTarget.value)}
      />
      <span class="count" role="status">${countOf(shown.length, models.length, 'model')}</span>
    </div>
    <div class="bulk" role="toolbar" aria-label="Selected models">
      <span>${chosen.length} selected</span>
      <button class="outline small" disabled=${off} title=${denied} onClick=${() => void set(chosen, true)}>Enable selected</button>
      <button class="outline small" disabled=${off} title=${denied} onClick=${() => void set(chosen, false)}>Disable selected</button>
      <button class="outline small" disabled=${denied !== undefined} title=${denied ?? 'Thousands at once, and those that come later'} onClick=${() => setLeaving({ why: undefined })}>Leave out by pattern</button>
      ${denied && html`<small>${denied}</small>`}
    </div>
    <${WindowedTable}
      label="Models"
      columns=${columns}
      rows=${shown}
      idOf=${({ name }: Model) => name}
      nameOf=${({ name }: Model) => name}
      ticked=${ticked}
      onTick=${setTicked}
    />
  </div>`;
}

/** The models of the node, with the wishes of the spec, which take effect before the controller has repeated them. */
function modelsOf({ spec, status }: NodeResource): Model[] {
  const wishes = new Map((spec.models ?? []).map((wish) => [wish.name, wish]));
  return (status?.models ?? []).map(({ name, enabled, source, missedSyncs = 0 }) => {
    const wish = wishes.get(name);
    return { name, enabled: wish?.enabled ?? enabled, source, aliases: wish?.aliases ?? [], missedSyncs };
  });
}
