/** What an API server gives an object at its creation. */
export interface Identity {
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly generation: number;
}

/** Random bytes asked for at a time: one call for each of 100,000 objects costs more than the rest of their identities. */
const poolBytes = 4_096;
const uidBytes = 16;

/** Makes identities of objects that are seen for the first time. `now` in milliseconds since 1970. */
export function identityMaker(now: () => number, randomBytes: (size: number) => Uint8Array): () => Identity {
  let pool: Uint8Array = new Uint8Array();
  let used = 0;
  let second = Number.NaN;
  let secondText = '';

  const newUid = (): string => {
    if (used + uidBytes > pool.length) {
      pool = randomBytes(poolBytes);
      used = 0;
    }
    const hex = Buffer.from(pool.subarray(used, used + uidBytes)).toString('hex');
    used += uidBytes;
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20),
    ].join('-');
  };
  const timestamp = (): string => {
    const current = Math.floor(now() / 1_000);
    // The same text for all that are found in one second: there may be 100,000.
    if (current !== second) {
      second = current;
      secondText = new Date(second * 1_000).toISOString().replace('.000', '');
    }
    return secondText;
  };
  return () => ({ uid: newUid(), creationTimestamp: timestamp(), generation: 1 });
}
