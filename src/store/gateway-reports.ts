import type { GatewayReport } from '../resources/gateway-report.ts';

/** A report and when it last changed. */
export interface SeenReport {
  readonly name: string;
  readonly resourceVersion: string;
  readonly uid: string;
  /** The class that the gateway serves; undefined if it has none. */
  readonly className: string | undefined;
  /** Undefined if its content cannot be believed: `fault` says why. */
  readonly report: GatewayReport | undefined;
  readonly fault: string | undefined;
  /** When it was last seen to change, by our own monotonic clock: clocks of gateways may differ. */
  readonly heardMs: number;
}

/** The gateways of one installation, as they report. */
export interface GatewayReports {
  /** Undefined until a complete list was read, and while the kind is not known. */
  list(): readonly SeenReport[] | undefined;
  /** Names of the running pods of gateways, reporting or not; undefined while they may not be read. */
  pods(): ReadonlySet<string> | undefined;
  /** Names of the running pods of gateways that have no report: of an older version, or without the permission. */
  unreported(): readonly string[];
  /** Settles when the first list was read, or could not be. */
  readonly asked: Promise<void>;
  /** Calls back after each change. */
  subscribe(listener: () => void): () => void;
  /** Removes a report that has not changed since it was seen. Throws StoreError. */
  remove(seen: SeenReport, signal: AbortSignal): Promise<void>;
}

/** After this time without a new report, a gateway counts as silent. */
export const silentMs = 45_000;
const liveMs = 30_000;

/** How many gateways share the requests now: those that serve and reported within 30 s. `nowMs` is monotonic. */
export function liveGateways(reports: readonly SeenReport[], nowMs: number): number {
  return reports.filter(({ report, heardMs }) => report?.spec.state === 'Serving' && nowMs - heardMs < liveMs)
    .length;
}

/** The reports whose gateway has ended, or has been silent while its pod no longer exists. */
export function goneReports(reports: GatewayReports, nowMs: number): SeenReport[] {
  const pods = reports.pods();
  return (reports.list() ?? []).filter(({ name, report, heardMs }) => {
    if (report?.spec.state === 'Stopped') return true;
    // A gateway that is only cut off still serves, so silence alone says nothing.
    const isPodGone = report?.spec.podUID !== undefined && pods !== undefined && !pods.has(name);
    return isPodGone && nowMs - heardMs >= silentMs;
  });
}
