import type { ModelPatterns } from './model-filter.ts';
import type { Answer } from './verdict.ts';

/** What this process remembers of a node between reconciles. It is lost with a restart; what must survive is in the status. */
export interface NodeMemory {
  /** When this process first saw the node, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** How many contacts ended, and when the last one did. */
  readonly contacts: number;
  readonly lastContactMs: number | undefined;
  /** Contacts in a row that could not reach the node (for `failureThreshold`), and syncs in a row that failed. */
  readonly unreachable: number;
  readonly failedSyncs: number;
  /** The node asked (`Retry-After`) not to be contacted before this time. */
  readonly notBeforeMs: number;
  /** The connection and `discovery` of the last plan; undefined before the first. */
  readonly connectionKey: string | undefined;
  /** The connection changed while this process ran, and no contact has ended since. */
  readonly connectionChanged: boolean;
  readonly discovery: 'Always' | 'Never' | undefined;
  /** `spec.sync.models` of the last sync, or newer patterns that admit no more models than those. */
  readonly patterns: { readonly models: ModelPatterns } | undefined;
}

/** The memory of a node that is seen for the first time. */
export function freshMemory(nowMs: number): NodeMemory {
  return {
    sinceMs: nowMs,
    contacts: 0,
    lastContactMs: undefined,
    unreachable: 0,
    failedSyncs: 0,
    notBeforeMs: 0,
    connectionKey: undefined,
    connectionChanged: false,
    discovery: undefined,
    patterns: undefined,
  };
}

export type ContactKind = 'sync' | 'check';

/** A contact that ended. */
export interface Contact {
  readonly kind: ContactKind;
  readonly answer: Answer;
  /** When it ended, in milliseconds since 1970. */
  readonly atMs: number;
  /** The connection that was used (`Gathered.connectionKey`): an answer over another one does not count. */
  readonly connectionKey: string;
  /** The value of the sync annotation when the contact began. */
  readonly syncRequest: string | undefined;
}
