import type { ApiKey } from '../resources/api-key.ts';
import type { Condition } from '../resources/conditions.ts';
import type { NativeFormat } from '../resources/formats.ts';
import type { MasterKey } from '../resources/master-key.ts';
import type { Problem } from '../resources/problem.ts';
import type { Reason } from '../resources/reasons.ts';
import type { Secret } from '../resources/secret.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import type { UpstreamConnection } from '../upstream/connection.ts';

/** The kinds of `modelgateway.dev` that a store holds, and the type of each. */
export interface ResourceOf {
  UpstreamNode: UpstreamNode;
  APIKey: ApiKey;
  MasterKey: MasterKey;
}
export type Kind = keyof ResourceOf;

/** An object of the API server that does not parse. Its last good version, if there is one, stays in force. */
export interface Rejection {
  readonly kind: Kind;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string | undefined;
    readonly resourceVersion: string | undefined;
    readonly generation: number | undefined;
  };
  /** The conditions of its status. */
  readonly conditions: readonly Condition[];
  readonly problems: readonly Problem[];
}

/**
 * What changed in the store. `before` is absent if the resource is new, `after` if it was deleted. The change of a Secret
 * only names it. `Sealing` means that the identities that open sealed keys changed. `Credentials` means that the credentials
 * of a node changed although the node did not: a Secret changed, or a sealed key was opened.
 */
export type Change =
  | {
      [K in Kind]: {
        readonly kind: K;
        readonly namespace: string;
        readonly name: string;
        readonly before?: ResourceOf[K];
        readonly after?: ResourceOf[K];
      };
    }[Kind]
  | { readonly kind: 'Secret'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'Credentials'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'Sealing' }
  | { readonly kind: 'Rejection'; readonly of: Kind; readonly namespace: string; readonly name: string };

/** A caller's key as requests need it, found by the hash of the key text. Immutable. */
export interface KeyEntry {
  readonly resource: ApiKey | MasterKey;
  /** When this key text expires, in milliseconds since 1970; Infinity for never. */
  readonly expiresAtMs: number;
  /** The allowlist; undefined allows every model. Always undefined for a MasterKey. */
  readonly models: ReadonlySet<string> | undefined;
}

/** The credentials of a node, ready for a connection, or why there are none. `message` never holds a secret. */
export type Credentials =
  | {
      readonly state: 'Resolved';
      readonly connection: UpstreamConnection;
      readonly apiKeySet: boolean;
      readonly secretResourceVersion: string;
    }
  | { readonly state: 'Pending' }
  | { readonly state: 'Refused'; readonly reason: Reason; readonly message: string };

/** A node as requests need it. Immutable: every change of the node or its credentials makes a new entry. */
export interface NodeEntry {
  /** `namespace/name`. */
  readonly id: string;
  readonly resource: UpstreamNode;
  readonly nativeFormats: ReadonlySet<NativeFormat>;
  readonly credentials: Credentials;
  /** When the status was last confirmed (its last health check or sync), in milliseconds since 1970; 0 for never. */
  readonly checkedAtMs: number;
}

/** One model of one node that serves a name. Several models of a node can share an alias. */
export interface Candidate {
  readonly node: NodeEntry;
  /** The name that is sent to the node: the caller's own, or the real name behind the alias. */
  readonly model: string;
  /** Whether this model is enabled on this node. The node itself may be disabled. */
  readonly enabled: boolean;
  /** The model's own priority and weight; absent if those of its node apply (`priorityOf`, `weightOf`). */
  readonly priority?: number;
  readonly weight?: number;
}

/** All nodes that know one name. Immutable: any change makes a new object, so it can be the key of a cache. */
export interface ServedModel {
  readonly name: string;
  readonly candidates: readonly Candidate[];
}

/**
 * The resources as they are now. Every result is an immutable value, returned without waiting. Two calls may see different
 * states, so a decision should read what it needs without awaiting anything between.
 */
export interface View {
  get<K extends Kind>(kind: K, namespace: string, name: string): ResourceOf[K] | undefined;
  list<K extends Kind>(kind: K, namespace?: string): Iterable<ResourceOf[K]>;
  /** The key that owns a hash (`sha256:<hex>`): the oldest resource that claims it. */
  key(hash: string): KeyEntry | undefined;
  /** The resources that claim a hash, the owner first. */
  claims(hash: string): readonly (ApiKey | MasterKey)[];
  /** Nodes that know a model name or alias, enabled or not. */
  served(name: string): ServedModel | undefined;
  /** Every name that some node knows. */
  servedNames(): Iterable<string>;
  node(namespace: string, name: string): NodeEntry | undefined;
  /** Age identities that open sealed keys, the newest first; empty while unknown. */
  sealingIdentities(): readonly string[];
  /** Whether the first list of every kind was complete. Never turns false again. */
  readonly synced: boolean;
  /** What `synced` still waits for, in a line that is safe to show; undefined when it is synced. */
  unsyncedReason?(): string | undefined;
  /** Lines for `/readyz?verbose`: what is wrong although the process is ready. */
  remarks?(): readonly string[];
}

/** Something that happened to a resource, for people: an Event in a cluster, a log line standalone. */
export interface ResourceEvent {
  readonly regarding: {
    readonly kind: Kind;
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: Reason;
  /** What was done, a CamelCase verb: `SyncModels`, `IssueKey`. */
  readonly action: string;
  /** For people, at most 1 kB. Never a credential. */
  readonly note: string;
}

/** The store: the view, and the few writes that the controller and the keys API make. All writes throw StoreError. */
export interface Store extends View {
  /** Settles when `synced` is true; rejects when `signal` aborts first. */
  whenSynced(signal: AbortSignal): Promise<void>;
  /** Calls back after each change was made visible. A listener that throws is logged and stays subscribed. */
  subscribe(listener: (change: Change) => void): () => void;
  /** Writes the whole status. Refused if the object was deleted and created again, which its uid shows. */
  writeStatus<K extends Kind>(
    kind: K,
    resource: ResourceOf[K],
    status: NonNullable<ResourceOf[K]['status']>,
    signal: AbortSignal,
  ): Promise<void>;
  /** The object if its newest version does not parse. Absent where manifests are checked before they are stored. */
  rejection?(kind: Kind, namespace: string, name: string): Rejection | undefined;
  rejections?(): Iterable<Rejection>;
  /** Replaces the conditions of an object that does not parse, and sets the generation that they are about. */
  writeConditions?(
    rejection: Rejection,
    conditions: readonly Condition[],
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * The version of a Secret as far as it is known without reading it; undefined if it is not known, or there is no such Secret. It
   * may lag behind: then a change of the Secret is reported afterwards.
   */
  secretVersion?(namespace: string, name: string): string | undefined;
  /** Reads the Secret from its source, not from a cache. */
  readSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
  /** Throws StoreError `AlreadyExists` rather than overwrite. */
  createSecret(secret: Secret, signal: AbortSignal): Promise<Secret>;
  /**
   * Sets the labels, annotations, owner references and entries that are given, and keeps all others. The version is that of
   * the Secret as it was read; `Conflict` when it changed since.
   */
  applySecret(secret: Secret, signal: AbortSignal): Promise<Secret>;
  /** Replaces the owner references of a Secret that was read before; `Conflict` when it changed since. */
  ownSecret(
    secret: Secret,
    ownerReferences: NonNullable<Secret['metadata']['ownerReferences']>,
    signal: AbortSignal,
  ): Promise<Secret>;
  /**
   * Publishes the recipient that sealed keys are encrypted to (ConfigMap `model-gateway-sealing`). No write if unchanged.
   * Returns the other one that was published before, if there was one and it is known.
   */
  publishSealingRecipient(recipient: string, signal: AbortSignal): Promise<string | undefined>;
  /** Stores an APIKey made by the keys API and makes it visible in this view before it settles. */
  createKey(key: ApiKey, signal: AbortSignal): Promise<ApiKey>;
  /** Deletes an APIKey, and removes it from this view before it settles. `Declared` if a standalone manifest declares it. */
  deleteKey(key: ApiKey, signal: AbortSignal): Promise<void>;
  recordEvent(event: ResourceEvent): void;
}

export type StoreErrorReason =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Forbidden'
  | 'Invalid'
  | 'Declared'
  | 'Unavailable';

/** A write or fresh read that did not succeed. Branch on `reason`; `message` is safe to show. */
export class StoreError extends Error {
  readonly reason: StoreErrorReason;
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: StoreErrorReason,
    message: string,
    options?: { retryAfterMs?: number; cause?: unknown },
  ) {
    super(message, { cause: options?.cause });
    this.name = 'StoreError';
    this.reason = reason;
    this.retryAfterMs = options?.retryAfterMs;
  }
}
