import type { ManifestProblem } from '../../store/folder/manifest-problems.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';
import type { Edit } from './edit.ts';

/** Which resource. */
export interface Ref<K extends Kind = Kind> {
  readonly kind: K;
  readonly namespace: string;
  readonly name: string;
}

/** Which resource was read. */
export function refOf<K extends Kind>({ resource }: Declared<K>): Ref<K> {
  const { namespace, name } = resource.metadata;
  return { kind: resource.kind as K, namespace, name };
}

/** A resource as it is declared and as it is now, and what is needed to edit it without harming others. */
export interface Declared<K extends Kind = Kind> {
  readonly resource: ResourceOf[K];
  /**
   * Tells this declaration from what it was and may become: a digest of uid, labels, annotations and spec in a cluster, of
   * the document's text in a folder. A new status leaves it as it is. An edit may ask that it still be so.
   */
  readonly version: string;
  /** The resource as people wrote it, without status and what the server adds: what an editor shows. */
  readonly manifest: string;
  /** Where it is declared, for people: `manifests/openai.yaml, document 2`; undefined in a cluster. */
  readonly source: string | undefined;
  /** Who owns it instead of people, such as `Argo CD application platform`; undefined where nobody does. */
  readonly managedBy: string | undefined;
  /** In a folder: why this is the last good version and not what the manifest says now. An edit is refused meanwhile. */
  readonly kept?: string;
  /** Fields that another field manager owns by apply, so that to edit them takes `force`. Absent in a folder. */
  readonly owners?: readonly FieldOwner[];
}

/** A change of one resource: `before` is undefined for a new one, `after` for a deleted one. */
export interface Change<K extends Kind> {
  readonly ref: Ref<K>;
  readonly before: Declared<K> | undefined;
  readonly after: Declared<K> | undefined;
}

export interface FieldOwner {
  readonly manager: string;
  /** Such as `spec.enabled` or `spec.models[gpt-5].enabled`; at most 100. */
  readonly fields: readonly string[];
}

export interface WriteOptions {
  /** Nothing is stored; what would be is judged by the same validation and returned. */
  readonly dryRun?: boolean;
  /** Refused with `Conflict` when the resource is no longer what it was. */
  readonly version?: string;
  /** Takes over fields that another field manager owns; without it that is a `Conflict` that names the manager and the fields. */
  readonly force?: boolean;
}

/**
 * The resources as people declare them, in a cluster (with the user's own rights) or in a folder of manifests. The one
 * way in which our interfaces, commands and console, read and edit. Every method throws `DeclarationError`.
 */
export interface Declarations {
  /** Where this is, for people: `context kind-dev` or `folder ./manifests`. */
  readonly place: string;
  /** The namespace that is meant where none is named. */
  readonly namespace: string;
  /** All of a kind in one namespace, or in all that may be read (`undefined`), by namespace and name. */
  list<K extends Kind>(
    kind: K,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly Declared<K>[]>;
  get<K extends Kind>(ref: Ref<K>, signal: AbortSignal): Promise<Declared<K>>;
  /**
   * Calls back with every state of one kind from the first on, until `signal` aborts: a watch. `listed` is called once
   * what there was at the start has all been told. Faults that may pass are waited out, and `faulty` is told why each time:
   * until the next change what was told may be old. It rejects where the right is missing.
   */
  watch<K extends Kind>(
    kind: K,
    namespace: string | undefined,
    sink: (change: Change<K>) => void,
    signal: AbortSignal,
    listed?: () => void,
    faulty?: (why: string) => void,
  ): Promise<void>;
  /** Declares a new resource; `AlreadyExists` rather than overwrite. Returns it with the server's defaults. */
  create<K extends Kind>(
    manifest: Manifest<K>,
    options: WriteOptions,
    signal: AbortSignal,
  ): Promise<Declared<K>>;
  /** Applies the edits to one resource and leaves everything else of it as it is. */
  edit<K extends Kind>(
    ref: Ref<K>,
    edits: readonly Edit[],
    options: WriteOptions,
    signal: AbortSignal,
  ): Promise<Declared<K>>;
  /**
   * Takes over what people made of a `manifest` in an editor: in a cluster as the edits between the two, in a folder as the
   * new text of the document, comments and all. Refuses another name, kind or namespace.
   */
  rewrite<K extends Kind>(
    before: Declared<K>,
    text: string,
    options: WriteOptions,
    signal: AbortSignal,
  ): Promise<Declared<K>>;
  remove(ref: Ref, options: WriteOptions, signal: AbortSignal): Promise<void>;
  /** Why this person may not do it, which right is missing; undefined when they may. A write is judged again all the same. */
  refusal(act: Act, kind: Kind, namespace: string, signal: AbortSignal): Promise<string | undefined>;
  /** What files of a folder say that is not in force, because a file or document is not valid; none in a cluster. */
  manifestProblems(): Promise<readonly ManifestProblem[]>;
  /** Why statuses and generated keys are missing in this view of a folder, a sentence with the remedy; none in a cluster. */
  dataProblem?(): Promise<string | undefined>;
  /** The text of an entry of a Secret, read with this person's own rights; undefined where there is none. */
  secretEntry(
    namespace: string,
    name: string,
    entry: string,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** The age recipient that credentials are sealed to. */
  sealingRecipient(signal: AbortSignal): Promise<string>;
}

/** What a person may or may not do to resources of a kind. */
export type Act = 'create' | 'edit' | 'remove';

/** A resource as it is handed in: what a manifest file would say. */
export interface Manifest<K extends Kind = Kind> {
  readonly kind: K;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

export type DeclarationErrorReason =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Forbidden'
  | 'Invalid'
  | 'Unavailable';

/** A read or write that did not succeed. Branch on `reason`; `message` is safe to show and says how to put it right. */
export class DeclarationError extends Error {
  override readonly name = 'DeclarationError';
  readonly reason: DeclarationErrorReason;
  /** For `Invalid` and `Conflict`: which field, such as `spec.priority`, and what is wrong with it or who owns it. */
  readonly causes: readonly { readonly field: string; readonly message: string }[];

  constructor(
    reason: DeclarationErrorReason,
    message: string,
    causes: readonly { readonly field: string; readonly message: string }[] = [],
  ) {
    super(message);
    this.reason = reason;
    this.causes = causes;
  }
}
