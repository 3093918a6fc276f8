const apiVersion = 'modelgateway.dev/v1alpha1';

/** The path of one GatewayReport, or of a namespace's list. */
export function reportPath(namespace: string, name?: string): string {
  const list = `/apis/${apiVersion}/namespaces/${namespace}/gatewayreports`;
  return name === undefined ? list : `${list}/${name}`;
}

/** A report as tests look at it. */
export interface StoredReport {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[];
  };
  readonly spec: {
    readonly state: string;
    readonly version: string;
    readonly requestsInFlight: number;
    readonly heartbeatTime: string;
    readonly applied: readonly Readonly<Record<string, string>>[];
  };
}

/** A valid report. */
export function reportOf(name: string, spec: Record<string, unknown> = {}) {
  return {
    apiVersion,
    kind: 'GatewayReport',
    metadata: { name },
    spec: {
      state: 'Serving',
      version: '0.0.0',
      instance: 'test',
      startedTime: '2026-01-01T00:00:00Z',
      heartbeatTime: '2026-01-01T00:00:00Z',
      requestsInFlight: 0,
      openCircuits: 0,
      applied: [],
      ...spec,
    },
  };
}
