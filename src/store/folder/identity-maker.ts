import { randomUUID } from 'node:crypto';

/** What an API server gives an object at its creation. */
export interface Identity {
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly generation: number;
}

/** Makes identities of objects that are seen for the first time. `now` in milliseconds since 1970. */
export function identityMaker(now: () => number): () => Identity {
  return () => ({ uid: randomUUID(), creationTimestamp: timestampOf(now()), generation: 1 });
}

/** A time as Kubernetes writes it: RFC 3339, in whole seconds. */
export function timestampOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
