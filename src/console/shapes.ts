// What the server sends to the page. The page imports only these types from outside its folder.

/** Kinds of resources that the page shows. */
export type PageKind = 'UpstreamNode' | 'APIKey' | 'MasterKey';

/** A node as the list shows it, without models: a thousand nodes would be tens of megabytes. Times are RFC 3339. */
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
  /** When the last sync ended, and when the last successful one did. */
  readonly lastSyncTime: string | undefined;
  readonly lastSuccessfulSyncTime: string | undefined;
  readonly lastSyncError: string | undefined;
  readonly priority: number;
  readonly weight: number;
  /** Who owns the resource instead of people. */
  readonly managedBy: string | undefined;
  /** Why this is the last good version and not what the manifest says now. */
  readonly kept?: string;
  /** Incremented by every change of the spec. */
  readonly generation: number;
  /** Whether a requested synchronization is not done yet. */
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
  /** Why nothing can be changed here; undefined if it can. */
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
  /** The problems of the manifests in a folder: some, one a line, and their number. */
  readonly manifests: ManifestProblems;
}

/** What changed since the last event. */
export interface LiveChanges {
  readonly old: string | undefined;
  readonly set: readonly Row[];
  readonly removed: readonly { readonly kind: PageKind; readonly namespace: string; readonly name: string }[];
  readonly problems: Readonly<Partial<Record<PageKind, string>>>;
  /** The problems of the manifests in a folder: some, one a line, and their number. */
  readonly manifests: ManifestProblems;
}

/** One complete resource. */
export interface Detail {
  readonly row: Row;
  /** An edit that sends it is refused if the declaration has changed. */
  readonly version: string;
  /** The resource, as JSON. */
  readonly resource: unknown;
  /** As people wrote it, in YAML. */
  readonly manifest: string;
  readonly source: string | undefined;
}

/** The effect of an edit, or of a dry run. */
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

/** Whether this person may do it: true, or the reason why not. */
export type Right = true | string;
export type Rights = Readonly<
  Record<PageKind, { readonly create: Right; readonly edit: Right; readonly remove: Right }>
>;

/** Where a request would go, as the page shows it. Shares are parts of 1. */
export interface RouteAnswer {
  readonly model: string;
  /** The error message for a caller if no node takes the request. */
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
  /** Why it is tried last, and other remarks. */
  readonly remarks: readonly string[];
  /** Why it gets no such request, and the remedies. */
  readonly excluded: readonly { readonly message: string; readonly remedy: string }[];
}
