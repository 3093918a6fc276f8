import { classLabel } from '../../resources/class-label.ts';
import { gatewayReportSchema } from '../../resources/gateway-report.ts';
import { issueProblem } from '../../resources/issues.ts';
import { problemLine } from '../../resources/problem.ts';
import { safeParse } from '../../resources/safe-parse.ts';
import type { SeenReport } from '../gateway-reports.ts';
import { isAtLeast } from '../resource-version.ts';

/** Reads a stored report. `report` is absent if its content cannot be true; `fault` then says why, and is safe to show. */
export function readReport(document: unknown): Omit<SeenReport, 'heardMs'> {
  const { metadata } = (document ?? {}) as { metadata?: Record<string, unknown> };
  const text = (field: string): string => (typeof metadata?.[field] === 'string' ? metadata[field] : '');
  const [name, uid, resourceVersion] = [text('name'), text('uid'), text('resourceVersion')];
  const { labels } = (metadata ?? {}) as { labels?: Record<string, unknown> };
  const label = labels?.[classLabel];
  const className = typeof label === 'string' ? label : undefined;
  const parsed = safeParse(gatewayReportSchema, document);
  const refused = (fault: string) => ({
    name,
    uid,
    resourceVersion,
    className,
    report: undefined,
    fault,
  });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return refused(issue === undefined ? 'it does not parse' : problemLine(issueProblem(issue, document)));
  }
  for (const { namespace, upstreamNodes, apiKeys, masterKeys } of parsed.data.spec.applied) {
    for (const version of [upstreamNodes, apiKeys, masterKeys]) {
      if (version === undefined || isAtLeast(resourceVersion, version)) continue;
      // All kinds of this API group share the counter of their storage. Also so after a backup of it was restored.
      return refused(
        `spec.applied: the version of namespace ${namespace} is no number, or later than the report itself`,
      );
    }
  }
  return { name, uid, resourceVersion, className, report: parsed.data, fault: undefined };
}
