/** What an API server gives an object at its creation. */
export interface Identity {
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly generation: number;
}

/** Makes identities of objects that are seen for the first time. `now` in milliseconds since 1970. */
export function identityMaker(now: () => number, randomBytes: (size: number) => Uint8Array): () => Identity {
  return () => ({ uid: uidOf(randomBytes(16)), creationTimestamp: timestampOf(now()), generation: 1 });
}

/** A time as Kubernetes writes it: RFC 3339, in whole seconds. */
export function timestampOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** A UUID of version 4. */
function uidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20),
  ];
  return parts.join('-');
}
