import type { Clock } from '../../kube/clock.ts';
import type { ManifestProblem } from '../../store/folder/manifest-problems.ts';
import type { Standing, Target } from '../../store/standing.ts';
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
   * Identifies this state of the declaration: a digest of uid, labels, annotations and spec in a cluster, of the document's
   * text in a folder. A new status does not change it. An edit may require that the version is still the same.
   */
  readonly version: string;
  /** The resource as people wrote it, without status and what the server adds: what an editor shows. */
  readonly manifest: string;
  /** Where it is declared, for people: `manifests/openai.yaml, document 2`; undefined in a cluster. */
  readonly source: string | undefined;
  /** Who owns it instead of people, such as `Argo CD application platform`; undefined if nothing does. */
  readonly managedBy: string | undefined;
  /** In a folder: why this is the last good version, and not the manifest as it is now. It cannot be edited then. */
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
  /** Nothing is stored. The result is validated and returned as if it were. */
  readonly dryRun?: boolean;
  /** The write is refused with `Conflict` if the resource has another version now. */
  readonly version?: string;
  /** Takes over fields that another field manager owns; without it, the write fails with `Conflict`, which names the manager and the fields. */
  readonly force?: boolean;
}

/**
 * The resources as people declare them, in a cluster (with the permissions of the user) or in a folder of manifests. The
 * commands and the console read and edit only through this interface. Every method throws `DeclarationError`.
 */
export interface Declarations {
  /** Where this is, for people: `context kind-dev` or `folder ./manifests`. */
  readonly place: string;
  /** The namespace that is used if none is named. */
  readonly namespace: string;
  /** All of a kind in one namespace, or in all that may be read (`undefined`), by namespace and name. */
  list<K extends Kind>(
    kind: K,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly Declared<K>[]>;
  get<K extends Kind>(ref: Ref<K>, signal: AbortSignal): Promise<Declared<K>>;
  /**
   * Watches one kind until `signal` aborts: `sink` gets every existing resource, then every change. `listed` is called
   * after the existing ones. After a temporary failure the watch goes on, and `faulty` gets the reason: until the next
   * change, what `sink` got may be outdated. Rejects if the permission is missing.
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
   * Stores a `manifest` that a person edited as text: in a cluster as the edits between the two texts, in a folder as the
   * new text of the document, with its comments. Refuses another name, kind or namespace.
   */
  rewrite<K extends Kind>(
    before: Declared<K>,
    text: string,
    options: WriteOptions,
    signal: AbortSignal,
  ): Promise<Declared<K>>;
  remove(ref: Ref, options: WriteOptions, signal: AbortSignal): Promise<void>;
  /** Which permission this person needs for an act; undefined if none is missing. A write is checked again anyway. */
  refusal(act: Act, kind: Kind, namespace: string, signal: AbortSignal): Promise<string | undefined>;
  /** Manifests of a folder that are not in force, because a file or document is not valid; none in a cluster. */
  manifestProblems(): Promise<readonly ManifestProblem[]>;
  /** Why statuses and generated keys are missing in this view of a folder, a sentence with the remedy; none in a cluster. */
  dataProblem?(): Promise<string | undefined>;
  /** The text of an entry of a Secret, read with the permissions of this person; undefined if there is none. */
  secretEntry(
    namespace: string,
    name: string,
    entry: string,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** The age recipient that credentials are sealed to. */
  sealingRecipient(signal: AbortSignal): Promise<string>;
  /** What the gateways have applied; absent in a folder, which one process serves. */
  readonly gateways?: Gateways;
}

/** The gateways of a cluster, as they report. */
export interface Gateways {
  /** The resourceVersion at which an object was deleted, or marked to be; `before` is its metadata as it was read. */
  deletedAt(
    ref: Ref,
    before: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined },
    signal: AbortSignal,
  ): Promise<string>;
  /**
   * Waits until every gateway of a class has applied a change, at most `timeoutMs`, and returns the standing then: undefined
   * if no reports could be read. `faults` says what could not.
   */
  whenApplied(
    target: Target,
    className: string | undefined,
    timeoutMs: number,
    clock: Clock,
    signal: AbortSignal,
  ): Promise<{ readonly standing: Standing | undefined; readonly faults: readonly string[] }>;
}

/** What a person may need permission for. */
export type Act = 'create' | 'edit' | 'remove';

/** A new resource, as a manifest file would declare it. */
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

/** A read or write that did not succeed. Branch on `reason`; `message` is safe to show and says how to fix it. */
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
