import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { prometheusBinaries } from '../support/prometheus-binaries.ts';
import { alertCases } from './alert-cases.ts';

const run = promisify(execFile);
const rules = fileURLToPath(new URL('../../charts/model-gateway/files/alerts.yaml', import.meta.url));
let promtool: string;
let folder: string;

beforeAll(async () => {
  ({ promtool } = await prometheusBinaries());
  folder = await mkdtemp(join(tmpdir(), 'model-gateway-alerts-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function ofPromtool(...args: string[]): Promise<string> {
  return run(promtool, args).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => {
      throw new Error(`promtool ${args.join(' ')}\n${stdout}\n${stderr}`);
    },
  );
}

test('the rules are such as Prometheus takes', async () => {
  expect(await ofPromtool('check', 'rules', rules)).toContain('SUCCESS');
});

test('every alert has a case, and no other', async () => {
  const { groups } = parse(await readFile(rules, 'utf8')) as { groups: { rules: { alert: string }[] }[] };
  expect(alertCases.map(({ alert }) => alert)).toEqual(
    groups.flatMap((group) => group.rules.map(({ alert }) => alert)),
  );
});

test('alerts fire when they should, and only then', async () => {
  const { groups } = parse(await readFile(rules, 'utf8')) as {
    groups: { rules: { alert: string; labels: Record<string, string> }[] }[];
  };
  const severity = new Map(
    groups.flatMap((group) => group.rules.map(({ alert, labels }) => [alert, labels['severity']] as const)),
  );
  // What an alert says is for people; which series it is of is what is tested. So the texts are left out.
  const bare = {
    groups: groups.map((group) => ({
      ...group,
      rules: group.rules.map((rule) => ({ ...rule, annotations: {} })),
    })),
  };
  await writeFile(join(folder, 'rules.yaml'), stringify(bare));
  const tests = alertCases.flatMap(({ alert, firing, quiet, atMinutes, labels }) => {
    const seriesOf = (series: Readonly<Record<string, string>>) =>
      Object.entries(series).map(([name, values]) => ({ series: name, values }));
    const expected = { exp_labels: { ...labels, severity: severity.get(alert) } };
    const when = `${atMinutes}m`;
    return [
      {
        interval: '1m',
        name: `${alert} fires`,
        input_series: seriesOf(firing),
        alert_rule_test: [{ eval_time: when, alertname: alert, exp_alerts: [expected] }],
      },
      {
        interval: '1m',
        name: `${alert} is quiet`,
        input_series: seriesOf(quiet),
        alert_rule_test: [{ eval_time: when, alertname: alert, exp_alerts: [] }],
      },
    ];
  });
  const file = join(folder, 'tests.yaml');
  await writeFile(file, stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }));
  expect(await ofPromtool('test', 'rules', file)).toContain('SUCCESS');
});
