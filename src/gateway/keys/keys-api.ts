import { z } from 'zod';
import type { ApiKey } from '../../resources/api-key.ts';
import { line, modelName, setOf } from '../../resources/fields.ts';
import { issueProblem } from '../../resources/issues.ts';
import { generateKeyText, hashKeyText, keyHint } from '../../resources/key-text.ts';
import { safeParse } from '../../resources/safe-parse.ts';
import { timeOf, timeText } from '../../resources/time.ts';
import { type KeyEntry, type Store, StoreError } from '../../store/store.ts';
import { GatewayError } from '../errors/errors.ts';

/** A key as `/v1/keys` shows it, in the shape of OpenAI's key administration. Times are seconds since 1970. */
export interface KeyObject {
  readonly object: 'api_key';
  readonly id: string;
  readonly name: string;
  readonly redacted_value: string | null;
  readonly enabled: boolean;
  readonly models: readonly string[] | null;
  readonly created_at: number;
  readonly expires_at: number | null;
}

export interface KeyPage {
  readonly object: 'list';
  readonly data: readonly KeyObject[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** `/v1/keys`, after the master key was checked. It reaches only the APIKeys of the master key's namespace. */
export interface KeysApi {
  /** Creates a key and returns it with its text, after the store has it. Throws GatewayError. */
  create(
    master: KeyEntry,
    body: unknown,
    signal: AbortSignal,
  ): Promise<KeyObject & { readonly value: string }>;
  list(master: KeyEntry, query: Readonly<Record<string, unknown>>): KeyPage;
  get(master: KeyEntry, id: string): KeyObject;
  remove(
    master: KeyEntry,
    id: string,
    signal: AbortSignal,
  ): Promise<{ object: 'api_key.deleted'; id: string; deleted: true }>;
}

/** The label on keys made through `/v1/keys`, so that people and policies can tell them from declared ones. */
const createdByLabel = 'modelgateway.dev/created-by';

/** 9999-12-31T23:59:59Z: RFC 3339 has no later times, and one is a mistake (milliseconds in place of seconds). */
const latestTime = 253_402_300_799;

// The same bounds as the fields of the resource, so that the store accepts what passes here.
const newKeySchema = z.strictObject({
  name: line(253).nullish(),
  models: setOf(modelName(), 1_000, 1).nullish(),
  expires_at: z
    .int()
    .refine((seconds) => seconds <= latestTime, {
      message: 'must be in seconds since 1970, not milliseconds',
      params: { remedy: 'divide it by 1000' },
    })
    .nullish(),
});

/** `now` is in milliseconds since 1970. */
export function createKeysApi(options: {
  store: Store;
  now: () => number;
  randomBytes: (size: number) => Uint8Array;
}): KeysApi {
  const { store, now, randomBytes } = options;

  const find = (master: KeyEntry, id: string): ApiKey => {
    const key = store.get('APIKey', master.resource.metadata.namespace, id);
    if (key !== undefined && key.metadata.deletionTimestamp === undefined) return key;
    // The id is not repeated: it may be a key text sent by mistake, and this message is logged.
    throw new GatewayError('key_not_found', 'No API key has this id.', { param: 'id' });
  };

  return {
    async create(master, body, signal) {
      const wanted = readNewKey(body, now());
      const value = generateKeyText('api', randomBytes);
      const key: ApiKey = {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'APIKey',
        metadata: {
          name: `key-${Buffer.from(randomBytes(10)).toString('hex')}`,
          namespace: master.resource.metadata.namespace,
          labels: { [createdByLabel]: 'keys-api' },
          creationTimestamp: undefined,
          deletionTimestamp: undefined,
        },
        spec: {
          enabled: true,
          priority: 'Normal',
          conversion: 'Lossy',
          hash: hashKeyText(value),
          hint: keyHint(value),
          ...(wanted.name == null ? {} : { displayName: wanted.name }),
          ...(wanted.models == null ? {} : { models: wanted.models }),
          ...(wanted.expires_at == null ? {} : { expirationTime: timeText(wanted.expires_at * 1000) }),
        },
      };
      const stored = await fromStore(store.createKey(key, signal));
      return { ...keyObject(stored), value };
    },

    list(master, query) {
      const limit = readLimit(query['limit']);
      const after = query['after'] === undefined ? undefined : find(master, readId(query['after']));
      const page = firstKeys(store.list('APIKey', master.resource.metadata.namespace), after, limit + 1);
      const data = page.slice(0, limit).map(keyObject);
      return {
        object: 'list',
        data,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: page.length > limit,
      };
    },

    get: (master, id) => keyObject(find(master, id)),

    async remove(master, id, signal) {
      const key = find(master, id);
      await fromStore(
        store.deleteKey(key, signal).catch((error: unknown) => {
          // In a cluster an admission policy forbids gateways to delete declared keys; in standalone mode the store does.
          if (!(error instanceof StoreError) || error.reason !== 'Forbidden' || isMadeHere(key)) throw error;
          const message = 'This key was declared by a manifest; delete it where it was declared.';
          throw new StoreError('Declared', message, { cause: error });
        }),
      );
      return { object: 'api_key.deleted', id, deleted: true };
    },
  };
}

function isMadeHere({ metadata, spec }: ApiKey): boolean {
  return metadata.labels?.[createdByLabel] === 'keys-api' && spec.hash !== undefined;
}

function readNewKey(body: unknown, nowMs: number): z.output<typeof newKeySchema> {
  const parsed = safeParse(newKeySchema, body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    if (issue?.code === 'unrecognized_keys') {
      const [field = ''] = issue.keys;
      throw new GatewayError(
        'unknown_parameter',
        `Unknown field '${field.slice(0, 64)}'; use name, models, expires_at.`,
        {
          param: field.slice(0, 64),
        },
      );
    }
    const problem = issue === undefined ? undefined : issueProblem(issue, body);
    if (problem === undefined || problem.path === '')
      throw new GatewayError('invalid_value', 'The body must be a JSON object.', { param: null });
    const { path, reason, remedy } = problem;
    throw new GatewayError('invalid_value', `${path} ${reason}; ${remedy}.`, { param: path });
  }
  const { expires_at } = parsed.data;
  if (expires_at != null && expires_at * 1000 <= nowMs) {
    throw new GatewayError('invalid_value', 'expires_at must be in the future, in seconds since 1970.', {
      param: 'expires_at',
    });
  }
  return parsed.data;
}

function readLimit(value: unknown): number {
  if (value === undefined) return 20;
  const limit = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (limit >= 1 && limit <= 100) return limit;
  throw new GatewayError('invalid_value', 'limit must be a whole number from 1 to 100.', { param: 'limit' });
}

function readId(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new GatewayError('invalid_value', 'after must be given once, as the id of a key.', {
    param: 'after',
  });
}

/** The first `count` keys after `after`, oldest first. One pass, because a namespace may have 100,000 keys. */
function firstKeys(keys: Iterable<ApiKey>, after: ApiKey | undefined, count: number): ApiKey[] {
  const first: ApiKey[] = [];
  for (const key of keys) {
    if (key.metadata.deletionTimestamp !== undefined) continue;
    if (after !== undefined && olderFirst(key, after) <= 0) continue;
    const last = first.at(-1);
    if (first.length === count && last !== undefined && olderFirst(key, last) >= 0) continue;
    const place = first.findIndex((other) => olderFirst(key, other) < 0);
    first.splice(place === -1 ? first.length : place, 0, key);
    if (first.length > count) first.pop();
  }
  return first;
}

function olderFirst(one: ApiKey, other: ApiKey): number {
  const [a, b] = [one.metadata.creationTimestamp ?? '', other.metadata.creationTimestamp ?? ''];
  if (a !== b) return a < b ? -1 : 1;
  return one.metadata.name < other.metadata.name ? -1 : one.metadata.name === other.metadata.name ? 0 : 1;
}

function keyObject(key: ApiKey): KeyObject {
  const { metadata, spec, status } = key;
  return {
    object: 'api_key',
    id: metadata.name,
    name: spec.displayName ?? metadata.name,
    redacted_value: spec.hint ?? status?.hashes?.[0]?.hint ?? null,
    enabled: spec.enabled,
    models: spec.models ?? null,
    created_at: unixSeconds(metadata.creationTimestamp) ?? 0,
    expires_at: unixSeconds(spec.expirationTime) ?? null,
  };
}

function unixSeconds(time: string | undefined): number | undefined {
  const ms = timeOf(time);
  return ms === undefined ? undefined : Math.floor(ms / 1000);
}

async function fromStore<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new GatewayError(storeErrors[error.reason], error.message, { cause: error });
  }
}

const storeErrors = {
  NotFound: 'key_not_found',
  AlreadyExists: 'conflict',
  Conflict: 'conflict',
  Declared: 'conflict',
  Invalid: 'invalid_value',
  Forbidden: 'store_forbidden',
  Unavailable: 'store_unavailable',
} as const;
