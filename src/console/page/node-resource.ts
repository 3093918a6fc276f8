/** The part of a node that this page reads. */
export interface NodeResource {
  readonly metadata: { readonly creationTimestamp?: string };
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly apiKeySecretRef?: { readonly name: string; readonly key: string };
    readonly encryptedAPIKey?: string;
    readonly sync?: {
      readonly models?: { readonly include?: readonly string[]; readonly exclude?: readonly string[] };
    };
    readonly models?: readonly {
      readonly name: string;
      readonly enabled?: boolean;
      readonly aliases?: readonly string[];
    }[];
  };
  readonly status?: {
    readonly models?: readonly {
      readonly name: string;
      readonly enabled: boolean;
      readonly source: string;
      readonly missedSyncs?: number;
    }[];
    readonly lastHealthCheckTime?: string;
    readonly apiKeySet?: boolean;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
      readonly lastTransitionTime: string;
    }[];
  };
}
