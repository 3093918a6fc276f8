import type { Key, KeyStatus } from './key.ts';

/** How many hashes a key remembers after they ended. */
const mostRetired = 20;

/** How long the condition says that a former key was refused. */
export const refusalShownMs = 86_400_000;

/**
 * Whether a hash belongs to a former key of this object: one that a rotation replaced, also during its overlap, or that was
 * revoked. Such a key in the Secret is an old copy, which must not take effect again.
 */
export function isFormer({ status }: Key, hash: string): boolean {
  const [, ...replaced] = status?.hashes ?? [];
  return (status?.retiredHashes ?? []).includes(hash) || replaced.some((entry) => entry.hash === hash);
}

/**
 * The hashes that ended, the newest first. A refused one moves to the front. Otherwise a program that writes an old copy again and
 * again would retire so many keys that the old one is forgotten.
 *
 * `held` is the hash of a key in a Secret that the object does not own, as after a restore. It is not among the hashes that
 * ended, because the object may own the Secret again.
 */
export function nextRetired(
  before: KeyStatus | undefined,
  hashes: NonNullable<KeyStatus['hashes']>,
  { refused, held }: { readonly refused?: string | undefined; readonly held?: string | undefined } = {},
): string[] {
  const known = [...(before?.hashes ?? []).map(({ hash }) => hash), ...(before?.retiredHashes ?? [])];
  const all = new Set(refused === undefined ? known : [refused, ...known]);
  for (const { hash } of hashes) all.delete(hash);
  if (held !== undefined) all.delete(held);
  return [...all].slice(0, mostRetired);
}
