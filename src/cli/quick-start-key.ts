import { conditionOf } from '../resources/condition-of.ts';
import { secretValue } from '../resources/secret.ts';
import { timeOf } from '../resources/time.ts';
import type { ManifestProblem } from '../store/folder/manifest-problems.ts';
import type { ResourceOf, Store } from '../store/store.ts';

export const quickStartKey = { namespace: 'default', name: 'quick-start', secretName: 'quick-start-key' };
export const quickStartKeyFile = 'api-key.yaml';

type ApiKey = ResourceOf['APIKey'];

/** The key that the quick start shows, or why there is none that it can show. */
export type ShownKey =
  | { readonly text: string }
  | {
      /** Follows `none: `. */
      readonly reason: string;
      /** `name`, or `namespace/name`, of another key that is in force. */
      readonly other: string | undefined;
    };

/** The quick start's key, as far as it is known now; undefined while the controller may still issue it. */
export async function shownKey(
  store: Pick<Store, 'get' | 'list' | 'readSecret'>,
  problems: readonly ManifestProblem[],
  nowMs: number,
  signal: AbortSignal,
): Promise<ShownKey | undefined> {
  const { namespace, name } = quickStartKey;
  const key = store.get('APIKey', namespace, name);
  const reason = key === undefined ? whyAbsent(problems) : whyUnusable(key, nowMs);
  if (reason !== undefined || key?.spec.secretName === undefined) {
    return { reason: reason ?? 'only its owner knows its text', other: otherKey(store, nowMs) };
  }
  const secret = await store.readSecret(namespace, key.spec.secretName, signal);
  const text = secret === undefined ? undefined : secretValue(secret, 'apiKey');
  if (text !== undefined) return { text };
  const ready = conditionOf(key.status?.conditions, 'Ready');
  if (ready?.status !== 'False') return undefined;
  return { reason: `the key ${name} was not issued: ${ready.message}`, other: otherKey(store, nowMs) };
}

function whyAbsent(problems: readonly ManifestProblem[]): string {
  const problem = problems.find(({ file }) => file === quickStartKeyFile);
  return problem === undefined
    ? `no manifest declares the key ${quickStartKey.name}`
    : `${quickStartKeyFile} is not valid; see the notes below`;
}

function whyUnusable({ metadata, spec }: ApiKey, nowMs: number): string | undefined {
  if (!spec.enabled) return `the key ${metadata.name} is disabled`;
  return isExpired(spec.expirationTime, nowMs) ? `the key ${metadata.name} has expired` : undefined;
}

function isExpired(time: string | undefined, nowMs: number): boolean {
  const end = timeOf(time);
  return end !== undefined && end <= nowMs;
}

/** A key that callers can use now, those of the quick start's own namespace first. */
function otherKey(store: Pick<Store, 'list'>, nowMs: number): string | undefined {
  const found: string[] = [];
  for (const { metadata, spec, status } of store.list('APIKey')) {
    const { namespace, name } = metadata;
    if (namespace === quickStartKey.namespace && name === quickStartKey.name) continue;
    // A key without a status has not been reconciled since this start; its hash is in force all the same.
    const isRefused = conditionOf(status?.conditions, 'Ready')?.status === 'False';
    if (!spec.enabled || isExpired(spec.expirationTime, nowMs) || isRefused) continue;
    found.push(namespace === quickStartKey.namespace ? name : `${namespace}/${name}`);
  }
  return found.sort((a, b) => Number(a.includes('/')) - Number(b.includes('/')) || (a < b ? -1 : 1))[0];
}
