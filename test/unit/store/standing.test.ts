import { expect, test } from 'vitest';
import { gatewayReportSchema } from '../../../src/resources/gateway-report.ts';
import { readReport } from '../../../src/store/cluster/read-report.ts';
import {
  type GatewayReports,
  goneReports,
  liveGateways,
  type SeenReport,
} from '../../../src/store/gateway-reports.ts';
import { lowestSeen, standingOf } from '../../../src/store/standing.ts';
import { reportOf } from '../../support/reports.ts';

const target = { kind: 'APIKey', namespace: 'team', version: '100' } as const;
const now = 1_000_000;

function seen(name: string, spec: Record<string, unknown>, ageMs = 0): SeenReport {
  const report = gatewayReportSchema.parse(reportOf(name, spec));
  const common = { uid: name, resourceVersion: '1000', className: undefined, fault: undefined };
  return { name, report, heardMs: now - ageMs, ...common };
}
const at = (apiKeys?: string, namespace = 'team') => ({
  applied: [{ namespace, ...(apiKeys && { apiKeys }) }],
});

test.each<[what: string, reports: SeenReport[], applied: string[], pending: string[], silent: string[]]>([
  ['none', [], [], [], []],
  ['at the version, and later', [seen('a', at('100')), seen('b', at('1000'))], ['a', 'b'], [], []],
  ['before it, as numbers', [seen('a', at('99'))], [], ['a'], []],
  ['all namespaces at once', [seen('a', at('100', '*'))], ['a'], [], []],
  ['no list yet', [seen('a', at())], [], ['a'], []],
  ['another namespace', [seen('a', at('1', 'other'))], [], [], []],
  ['it starts, and says nothing', [seen('a', { state: 'Starting' })], [], ['a'], []],
  ['more namespaces than fit', [seen('a', { appliedTruncated: true })], [], ['a'], []],
  ['it drains, and still accepts', [seen('a', { state: 'Draining', ...at('1') })], [], ['a'], []],
  ['it has stopped', [seen('a', { state: 'Stopped', ...at('1') })], [], [], []],
  ['silent, and behind', [seen('a', at('1'), 45_000)], [], [], ['a']],
  ['silent, and had applied it before', [seen('a', at('100'), 45_000)], ['a'], [], []],
  ['a version that is no number', [seen('a', at('x'))], [], ['a'], []],
])('standing: %s', (_what, reports, applied, pending, silent) => {
  expect(standingOf(target, reports, [], now)).toEqual({ applied, pending, silent });
  const all = pending.length + silent.length === 0 && applied.length > 0;
  const lowest = lowestSeen(target, reports);
  expect(lowest !== undefined && lowest !== 'x' && BigInt(lowest) >= 100n).toBe(all);
});

test('a pod without a report, and a report that is not believed, are silent', () => {
  const absurd = { ...seen('b', at('100')), report: undefined, fault: 'x' };
  expect(standingOf(target, [absurd], ['old'], now).silent).toEqual(['b', 'old']);
});

test('a report that claims a version later than its own is not believed', () => {
  const stored = (apiKeys: string) => ({
    ...reportOf('a', at(apiKeys)),
    metadata: { name: 'a', resourceVersion: '100' },
  });
  expect(readReport(stored('100')).fault).toBeUndefined();
  expect(readReport(stored('101'))).toMatchObject({
    report: undefined,
    fault: expect.stringMatching(/later/),
  });
  expect(readReport({ metadata: { name: 'a' }, spec: 7 })).toMatchObject({ name: 'a', report: undefined });
  expect(readReport(null)).toMatchObject({ name: '', report: undefined });
});

test('gateways that share the requests serve, and reported within 30 s', () => {
  const reports = [
    seen('a', {}),
    seen('b', {}, 29_999),
    seen('c', {}, 30_000),
    seen('d', { state: 'Draining' }),
    seen('e', { state: 'Starting' }),
  ];
  expect(liveGateways(reports, now)).toBe(2);
});

test('a report is removed once its gateway stopped, or was silent and its pod no longer exists', () => {
  const list = [
    seen('stopped', { state: 'Stopped' }),
    seen('pod-runs', { podUID: 'x' }, 60_000),
    seen('pod-gone', { podUID: 'x' }, 60_000),
    seen('pod-gone-a-moment-ago', { podUID: 'x' }, 1_000),
    seen('no-pod', {}, 60_000),
  ];
  const reports = (pods: ReadonlySet<string> | undefined) =>
    ({ list: () => list, pods: () => pods }) as unknown as GatewayReports;
  const names = (pods?: ReadonlySet<string>) => goneReports(reports(pods), now).map(({ name }) => name);
  expect(names(new Set(['pod-runs']))).toEqual(['stopped', 'pod-gone']);
  expect(names()).toEqual(['stopped']);
});
