import type { IssuedHash } from '../../resources/key-source.ts';
import { timeOf, timeText } from '../../resources/time.ts';
import type { Key } from './key.ts';

/** The key that is in the Secret now, without its text. */
export interface CurrentKey {
  readonly hash: string;
  readonly hint: string;
  readonly revision: number;
}

const mostHashes = 16;
const dayMs = 86_400_000;
/** How far ahead another replica's clock may be. A time that is further in the future counts as now. */
const skewMs = 60_000;

/** When `spec.rotation.every` issues the key that follows `current`, in milliseconds since 1970; undefined if it never does. */
export function nextRotationMs(
  { metadata, spec }: Key,
  current: IssuedHash,
  nowMs: number,
): number | undefined {
  const every = spec.rotation?.every;
  if (every === undefined || !spec.enabled || metadata.deletionTimestamp !== undefined) return undefined;
  const nextMs = (timeOf(current.createdTime) ?? nowMs) + every * dayMs;
  const endsMs = timeOf(spec.expirationTime) ?? Number.POSITIVE_INFINITY;
  // A key that is expired by then, or now, is not issued.
  return endsMs > Math.max(nextMs, nowMs) ? nextMs : undefined;
}

/**
 * The hashes in force, the newest first. The Secret decides: a key that is in it and not in the status was issued before a
 * crash, and is added. The previous key stays valid for `overlapSeconds` only if the revision rose (a rotation). If the
 * Secret was deleted or changed for another reason, the previous key and all older ones end at once. A shorter
 * `overlapSeconds` also shortens overlaps that have begun.
 */
export function nextHashes(
  before: readonly IssuedHash[],
  current: CurrentKey | undefined,
  overlapSeconds: number,
  nowMs: number,
): IssuedHash[] {
  if (current === undefined) return [];
  const [head, ...older] = before;
  if (head !== undefined && head.hash === current.hash && head.expirationTime === undefined) {
    const isAhead = (timeOf(head.createdTime) ?? nowMs) > nowMs + skewMs;
    const known = isAhead ? { ...head, createdTime: timeText(nowMs) } : head;
    return inForce([known, ...older], overlapSeconds, nowMs);
  }
  const issued: IssuedHash = { ...current, createdTime: timeText(nowMs) };
  const isRotation =
    head !== undefined && head.expirationTime === undefined && current.revision > (head.revision ?? 0);
  const former = isRotation ? before.filter(({ hash }) => hash !== current.hash) : [];
  return inForce([issued, ...former], overlapSeconds, nowMs);
}

/** Ends replaced keys whose overlap is over, and bounds the list. */
function inForce(hashes: readonly IssuedHash[], overlapSeconds: number, nowMs: number): IssuedHash[] {
  const kept: IssuedHash[] = [];
  for (const [index, entry] of hashes.slice(0, mostHashes).entries()) {
    if (index === 0) {
      kept.push(entry);
      continue;
    }
    const replacedMs = timeOf(hashes[index - 1]?.createdTime) ?? nowMs;
    const endsMs = Math.min(
      timeOf(entry.expirationTime) ?? Number.POSITIVE_INFINITY,
      replacedMs + overlapMs(overlapSeconds),
    );
    if (endsMs > nowMs) kept.push({ ...entry, expirationTime: timeText(endsMs) });
  }
  return kept;
}

/** Times are stored in whole seconds, rounded down; an overlap must not end early because of that. */
function overlapMs(seconds: number): number {
  return seconds === 0 ? 0 : (seconds + 1) * 1_000;
}
