import type { StatusModel, UpstreamNode, UpstreamNodeSpec } from '../../resources/upstream-node.ts';
import type { Window } from '../../upstream/listed-window.ts';
import { modelFilter } from './model-filter.ts';
import { mostModelBytes } from './model-room.ts';
import type { ListedModels } from './verdict.ts';

/**
 * What a sync learnt of the node's own list: its models, that there is no listing, or nothing because the node was not asked
 * (`Unasked`).
 */
export type Listing =
  | ({ readonly kind: 'Names' } & ListedModels)
  | { readonly kind: 'NoEndpoint' }
  | { readonly kind: 'Unasked' };

export interface MergedModels {
  readonly models: StatusModel[];
  readonly truncated: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Whether a person set models of the node by hand. */
export function hasManualList({ spec }: UpstreamNode): boolean {
  return (spec.manualModels ?? []).length > 0;
}

/** Whether the node is asked for its models: not with `discovery: Never`, nor while syncs are suspended. */
export function isDiscovering({ spec }: Pick<UpstreamNode, 'spec'>): boolean {
  return spec.sync.discovery === 'Always' && !spec.sync.suspend;
}

/** A model is removed after it was absent from this many successful syncs in a row. */
const missesToRemove = 3;
const maxModels = 5_000;
const longestName = 512;

/**
 * The models of a node: the discovered ones that `spec.sync.models` admits, and the manual ones. Without a new listing the
 * discovered ones stay as they are, so that a change of the manual list applies at once. `newModels` decides whether a
 * discovered model starts enabled, and this is kept when `newModels` changes; manual models start enabled. An entry in
 * `spec.models` has precedence; if it is removed, the model is again what it started as.
 * Sorted by name. `room` bounds their bytes (`modelRoom`). Beyond the bounds manual models have precedence, then those known before.
 */
export function mergeModels(
  before: readonly StatusModel[],
  spec: Pick<UpstreamNodeSpec, 'manualModels' | 'models' | 'sync'>,
  listing: Listing,
  room = mostModelBytes,
): MergedModels {
  const known = new Map(before.map((model) => [model.name, model]));
  const manual = new Set(spec.manualModels ?? []);
  const wishes = new Map((spec.models ?? []).map(({ name, enabled }) => [name, enabled]));
  const found = discovered(before, spec.sync, listing);
  const startEnabled = spec.sync.newModels === 'Enabled';
  const windowOf = (name: string) =>
    listing.kind === 'Names' && found.get(name) === 0
      ? listing.windows?.get(name)
      : windowIn(known.get(name));

  const entries = [...new Set([...manual, ...found.keys()])].map((name): StatusModel => {
    const misses = found.get(name);
    const wish = wishes.get(name);
    if (misses === undefined) return { name, enabled: wish ?? true, source: 'Manual' };
    const started = startOf(known.get(name)) ?? startEnabled;
    const enabled = wish ?? (manual.has(name) || started);
    return {
      name,
      enabled,
      ...(enabled === started ? {} : { startedEnabled: started }),
      source: 'Discovered',
      ...windowOf(name),
      ...(misses === 0 ? {} : { missedSyncs: misses }),
    };
  });

  const { kept, truncated } = bounded(entries, manual, known, room);
  const names = new Set(kept.map(({ name }) => name));
  return {
    models: kept.sort(byName),
    truncated: truncated || (listing.kind === 'Names' && listing.truncated),
    added: kept.filter(({ name }) => !known.has(name)).map(({ name }) => name),
    removed: before.filter(({ name }) => !names.has(name)).map(({ name }) => name),
  };
}

function windowIn(model: StatusModel | undefined): Window | undefined {
  if (model?.source !== 'Discovered') return undefined;
  const { contextTokens, outputTokens } = model;
  return {
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
  };
}

function startOf(model: StatusModel | undefined): boolean | undefined {
  return model?.source === 'Discovered' ? (model.startedEnabled ?? model.enabled) : undefined;
}

/** The models that count as discovered, with the syncs in a row that missed each. */
function discovered(
  before: readonly StatusModel[],
  { discovery, models, suspend }: UpstreamNodeSpec['sync'],
  listing: Listing,
): Map<string, number> {
  const found = new Map<string, number>();
  if (suspend) {
    for (const { name, source, missedSyncs = 0 } of before)
      if (source === 'Discovered') found.set(name, missedSyncs);
    return found;
  }
  if (discovery === 'Never') return found;
  const isWanted = modelFilter(models);
  const listed = listing.kind === 'Names' ? listing.names.filter(isModelName) : [];
  for (const name of listed) if (isWanted(name)) found.set(name, 0);
  for (const { name, source, missedSyncs = 0 } of before) {
    if (found.has(name) || source !== 'Discovered' || !isWanted(name)) continue;
    // A model that a truncated listing does not name may exist.
    const unknown = listing.kind === 'Unasked' || (listing.kind === 'Names' && listing.truncated);
    const misses = unknown ? missedSyncs : missedSyncs + 1;
    if (misses < missesToRemove) found.set(name, misses);
  }
  return found;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
const modelName = /^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$/;

function isModelName(name: string): boolean {
  // The API server stores a lone surrogate as another character, so each sync would remove and add the name.
  return name.length <= longestName && name !== '*' && name.isWellFormed() && modelName.test(name);
}

function bounded(
  entries: readonly StatusModel[],
  manual: ReadonlySet<string>,
  known: ReadonlyMap<string, StatusModel>,
  room: number,
): { kept: StatusModel[]; truncated: boolean } {
  const rank = ({ name }: StatusModel): number => (manual.has(name) ? 0 : known.has(name) ? 1 : 2);
  const kept: StatusModel[] = [];
  let bytes = 2;
  for (const entry of [...entries].sort((a, b) => rank(a) - rank(b) || byName(a, b))) {
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (kept.length === maxModels || bytes > room) return { kept, truncated: true };
    kept.push(entry);
  }
  return { kept, truncated: false };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
