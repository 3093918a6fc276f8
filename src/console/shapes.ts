// What the server tells the page. The page imports these types alone from outside its folder.

/** Kinds of resources that the page shows. */
export type PageKind = 'UpstreamNode' | 'APIKey' | 'MasterKey';

/** A node as the list shows it: no models, or a thousand nodes would be tens of megabytes. Times are RFC 3339. */
export interface NodeRow {
  readonly kind: 'UpstreamNode';
  readonly namespace: string;
  readonly name: string;
  readonly displayName: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly phase: string;
  /** The reason and message of the condition Ready. */
  readonly reason: string;
  readonly message: string;
  readonly modelCount: number;
  readonly enabledModelCount: number;
  /** When a sync ended last, and when one succeeded last. */
  readonly lastSyncTime: string | undefined;
  readonly lastSuccessfulSyncTime: string | undefined;
  readonly lastSyncError: string | undefined;
  readonly priority: number;
  readonly weight: number;
  /** Who owns the resource instead of people. */
  readonly managedBy: string | undefined;
  /** Why this is the last good version and not what the manifest says now. */
  readonly kept?: string;
  /** Counts the changes of what is wanted. */
  readonly generation: number;
  /** Whether a synchronization was asked for and is not done. */
  readonly syncing: boolean;
}

/** An API key or master key as the lists show it. Never a key text or a hash. */
export interface KeyRow {
  readonly kind: 'APIKey' | 'MasterKey';
  readonly namespace: string;
  readonly name: string;
  readonly displayName: string;
  readonly enabled: boolean;
  /** `True`, `False`, `Unknown`. */
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  readonly hint: string | undefined;
  readonly models: readonly string[] | undefined;
  readonly expirationTime: string | undefined;
  readonly secretName: string | undefined;
  readonly revision: number;
  readonly created: string | undefined;
  readonly managedBy: string | undefined;
  /** Why this is the last good version and not what the manifest says now. */
  readonly kept?: string;
  readonly generation: number;
}

export type Row = NodeRow | KeyRow;

/** What the page needs to know once. */
export interface Place {
  readonly place: string;
  /** Whether it is a cluster, where Secrets are mounted into pods. */
  readonly isCluster: boolean;
  readonly namespace: string;
  readonly version: string;
  /** Why nothing can be changed here; undefined when it can. */
  readonly readOnly: string | undefined;
  /** The base URL for callers, for the snippets; undefined when it is not known. */
  readonly gatewayURL: string | undefined;
  /** Whether "Try it" can reach a gateway, and why not. */
  readonly tryIt: string | undefined;
}

export interface ManifestProblems {
  /** Each as `nodes` prints it: file, line, object, field, what is wrong and what to do. At most 20. */
  readonly lines: readonly string[];
  readonly count: number;
}

/** The first event of the live stream, and the one after a break. */
export interface LiveState {
  readonly rows: readonly Row[];
  /** Why what is shown may be old; undefined while it is not. */
  readonly old: string | undefined;
  readonly problems: Readonly<Partial<Record<PageKind, string>>>;
  /** What the files of a folder say that is not in force: a line of text each, and how many there are. */
  readonly manifests: ManifestProblems;
}

/** What changed since the last event. */
export interface LiveChanges {
  readonly old: string | undefined;
  readonly set: readonly Row[];
  readonly removed: readonly { readonly kind: PageKind; readonly namespace: string; readonly name: string }[];
  readonly problems: Readonly<Partial<Record<PageKind, string>>>;
  /** What the files of a folder say that is not in force: a line of text each, and how many there are. */
  readonly manifests: ManifestProblems;
}

/** One resource, whole. */
export interface Detail {
  readonly row: Row;
  /** What an edit may ask to be unchanged. */
  readonly version: string;
  /** The resource, as JSON. */
  readonly resource: unknown;
  /** As people wrote it, in YAML. */
  readonly manifest: string;
  readonly source: string | undefined;
}

/** What an edit would do, or did. */
export interface Edited {
  readonly before: string;
  readonly after: string;
  readonly row: Row;
  /** Of the declaration as it is then. */
  readonly version: string;
  /** As `resource.spec` of Detail. */
  readonly spec: unknown;
}

/** Why something could not be done. */
export interface Refused {
  readonly reason: string;
  readonly message: string;
  readonly causes: readonly { readonly field: string; readonly message: string }[];
}

/** May this person do it? True, or the reason why not. */
export type Right = true | string;
export type Rights = Readonly<
  Record<PageKind, { readonly create: Right; readonly edit: Right; readonly remove: Right }>
>;

/** Where a request would go, as the page shows it. Shares are parts of 1. */
export interface RouteAnswer {
  readonly model: string;
  /** What a caller is told where no node takes the request, in a sentence. */
  readonly refusal: string | undefined;
  readonly notes: readonly string[];
  readonly nodes: readonly RouteNode[];
}

export interface RouteNode {
  readonly namespace: string;
  readonly name: string;
  readonly model: string | undefined;
  readonly priority: number;
  readonly weight: number;
  readonly phase: string;
  readonly tier: number | undefined;
  readonly share: number | undefined;
  /** `as it is`, or the conversion. Undefined for a node that gets no such request. */
  readonly conversion: string | undefined;
  /** Why it is a last resort, and what else people should know. */
  readonly remarks: readonly string[];
  /** Why it gets no such request, and the remedy of each. */
  readonly excluded: readonly { readonly message: string; readonly remedy: string }[];
}
