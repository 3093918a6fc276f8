import type { GatewayReport } from '../resources/gateway-report.ts';
import { type SeenReport, silentMs } from './gateway-reports.ts';
import { isAtLeast } from './resource-version.ts';
import type { Kind } from './store.ts';

/** A change that gateways should have applied. */
export interface Target {
  readonly kind: Kind;
  readonly namespace: string;
  /** The resourceVersion of the change. */
  readonly version: string;
}

/** Which gateways have applied a change. Names are sorted. */
export interface Standing {
  readonly applied: readonly string[];
  /** They reported a moment ago, and do not see the change yet. */
  readonly pending: readonly string[];
  /** They do not see the change, and did not report for 45 s, or claim what cannot be: they may still see the old state. */
  readonly silent: readonly string[];
}

/**
 * Which gateways have applied a change: those whose requests see its namespace and kind up to its version. A gateway that
 * does not serve the namespace does not count. `unreported` are pods of gateways without a report. `nowMs` is monotonic.
 */
export function standingOf(
  target: Target,
  reports: readonly SeenReport[],
  unreported: readonly string[],
  nowMs: number,
): Standing {
  const applied: string[] = [];
  const pending: string[] = [];
  const silent: string[] = [...unreported];
  for (const { name, report, heardMs } of reports) {
    if (report === undefined) {
      silent.push(name);
      continue;
    }
    const seen = seenVersion(report, target);
    if (seen === 'NotServed') continue;
    if (seen !== undefined && isAtLeast(seen, target.version)) applied.push(name);
    else if (nowMs - heardMs >= silentMs) silent.push(name);
    else pending.push(name);
  }
  return { applied: applied.sort(), pending: pending.sort(), silent: silent.sort() };
}

/** The version that every gateway sees which serves the namespace; undefined if one sees none, or none serves it. */
export function lowestSeen(
  target: Pick<Target, 'kind' | 'namespace'>,
  reports: readonly SeenReport[],
): string | undefined {
  let lowest: string | undefined;
  for (const { report } of reports) {
    const seen = report === undefined ? undefined : seenVersion(report, target);
    if (seen === undefined) return undefined;
    if (seen !== 'NotServed' && (lowest === undefined || isAtLeast(lowest, seen))) lowest = seen;
  }
  return lowest;
}

const fields = { UpstreamNode: 'upstreamNodes', APIKey: 'apiKeys', MasterKey: 'masterKeys' } as const;

/** Up to which version a gateway sees a kind in a namespace; undefined if it has not read it yet. */
function seenVersion(
  { spec }: GatewayReport,
  { kind, namespace }: Pick<Target, 'kind' | 'namespace'>,
): string | 'NotServed' | undefined {
  if (spec.state === 'Stopped') return 'NotServed';
  const entry = spec.applied.find((each) => each.namespace === namespace || each.namespace === '*');
  if (entry !== undefined) return entry[fields[kind]];
  // A gateway that starts says what it serves only with its second report.
  return spec.state === 'Starting' || spec.appliedTruncated === true ? undefined : 'NotServed';
}
