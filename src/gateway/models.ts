import { timeOf } from '../resources/time.ts';
import { type RouteRefusal, usableCandidates } from '../routing/filter.ts';
import { cardOf } from '../store/model-card.ts';
import type { Candidate, KeyEntry, View } from '../store/store.ts';
import { type CodexModel, codexModel } from './codex-models.ts';
import { GatewayError, shorten } from './errors/errors.ts';

/** One entry of `GET /models`: the members of both SDK families side by side. */
export interface ListedModel {
  readonly id: string;
  readonly object: 'model';
  readonly type: 'model';
  /** When the oldest node that serves it was added, in seconds since 1970. */
  readonly created: number;
  /** The same, RFC 3339. */
  readonly created_at: string;
  readonly owned_by: string;
  readonly display_name: string;
  /** The context window in tokens, under the names by which clients look for it; absent if it is not known. */
  readonly context_window?: number;
  readonly max_model_len?: number;
  readonly max_input_tokens?: number;
  /** The longest answer in tokens; absent if it is not known. */
  readonly max_tokens?: number;
}

export interface ModelPage {
  readonly object: 'list';
  readonly data: readonly ListedModel[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
  /** For Codex CLI, which asks with `client_version`: those whose window is known. */
  readonly models?: readonly CodexModel[];
}

const longestPage = 10_000;
/** Names read in one turn of the event loop: half a million names would delay streams for too long. */
const namesPerTurn = 2_000;

/**
 * The models for which a request with this key would find a node, by name. `query` may hold `limit` (1 to 10,000;
 * default all, up to that bound), `after_id` or `before_id`, and `client_version`. Throws GatewayError for a bad query.
 */
export async function listModels(
  view: View,
  key: KeyEntry,
  homeNamespace: string,
  query: Readonly<Record<string, unknown>>,
): Promise<ModelPage> {
  const limit = readLimit(query['limit']);
  const after = readCursor(query, 'after_id');
  const before = readCursor(query, 'before_id');
  const names: string[] = [];
  let looked = 0;
  for (const name of key.models ?? view.servedNames()) {
    if (++looked % namesPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    if (after !== undefined && name <= after) continue;
    if (before !== undefined && name >= before) continue;
    if (!('code' in usableCandidates(view.served(name), key, homeNamespace))) names.push(name);
  }
  names.sort();
  const page = before !== undefined && after === undefined ? names.slice(-limit) : names.slice(0, limit);
  const served = page.flatMap((name) => {
    const candidates = usableCandidates(view.served(name), key, homeNamespace);
    return 'code' in candidates ? [] : [{ name, candidates }];
  });
  const data = served.map(({ name, candidates }) => listed(name, candidates));
  return {
    object: 'list',
    data,
    has_more: names.length > page.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    ...(query['client_version'] === undefined
      ? {}
      : { models: served.flatMap(({ name, candidates }) => codexModel(name, candidates) ?? []) }),
  };
}

/** One model. Throws the GatewayError that a request for it would get. */
export function describeModel(view: View, key: KeyEntry, homeNamespace: string, name: string): ListedModel {
  if (key.models !== undefined && !key.models.has(name)) throw modelRefused('model_not_allowed', name);
  const candidates = usableCandidates(view.served(name), key, homeNamespace);
  if ('code' in candidates) throw modelRefused(candidates.code, name);
  return listed(name, candidates);
}

const refusals: Readonly<Record<RouteRefusal['code'], string>> = {
  model_not_allowed: 'This API key may not use the model',
  model_not_found: 'No node serves the model',
  model_disabled: 'The administrator disabled the model',
  no_node_available: 'No node is available now for the model',
};

/** The error for a model that a key cannot use. It repeats the name that the caller sent, shortened. */
export function modelRefused(code: RouteRefusal['code'], model: string): GatewayError {
  return new GatewayError(code, `${refusals[code]} '${shorten(model)}'.`, { param: 'model' });
}

function listed(name: string, candidates: readonly Candidate[]): ListedModel {
  const times = candidates
    .map(({ node }) => timeOf(node.resource.metadata.creationTimestamp))
    .filter((time) => time !== undefined);
  const { displayName = name, contextTokens, outputTokens } = cardOf(candidates);
  const created = times.length > 0 ? Math.floor(Math.min(...times) / 1000) : 0;
  return {
    id: name,
    object: 'model',
    type: 'model',
    created,
    created_at: new Date(created * 1000).toISOString(),
    owned_by: 'model-gateway',
    display_name: displayName,
    ...(contextTokens === undefined
      ? {}
      : { context_window: contextTokens, max_model_len: contextTokens, max_input_tokens: contextTokens }),
    // Left out if it exceeds the window: it then comes from another candidate, and no correct bound is known.
    ...(outputTokens === undefined || outputTokens > (contextTokens ?? outputTokens)
      ? {}
      : { max_tokens: outputTokens }),
  };
}

function readLimit(value: unknown): number {
  if (value === undefined) return longestPage;
  const limit = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : 0;
  if (limit >= 1 && limit <= longestPage) return limit;
  throw new GatewayError('invalid_value', `limit must be a whole number from 1 to ${longestPage}.`, {
    param: 'limit',
  });
}

function readCursor(
  query: Readonly<Record<string, unknown>>,
  name: 'after_id' | 'before_id',
): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new GatewayError('invalid_value', `${name} must be given once, as a model id.`, { param: name });
}
