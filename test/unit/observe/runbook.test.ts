import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { errorCodes, GatewayError } from '../../../src/gateway/errors/errors.ts';
import { changeProblems } from '../../../src/resources/change.ts';
import { reasons } from '../../../src/resources/reasons.ts';
import { makeKey } from '../store/make.ts';

const chart = new URL('../../../charts/model-gateway/', import.meta.url);
const runbook = readFileSync(new URL('RUNBOOK.md', chart), 'utf8');
const { groups } = parse(readFileSync(new URL('files/alerts.yaml', chart), 'utf8')) as {
  groups: {
    rules: { alert: string; annotations: Record<string, string>; labels: Record<string, string> }[];
  }[];
};
const alerts = groups.flatMap(({ rules }) => rules);

const section = (title: string): string => runbook.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const rows = (title: string): string[] =>
  [...section(title).matchAll(/^\| `([^`]+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, name = '']) => name);

test('every reason of a condition has its row, and no other', () => {
  expect(rows('Condition reasons')).toEqual(Object.keys(reasons));
});

test('every error code has its row with its status, and no other', () => {
  expect(rows('Error codes')).toEqual([...errorCodes]);
  for (const code of errorCodes) {
    const { status } = new GatewayError(code, '').entry;
    expect(section('Error codes')).toContain(`\n| \`${code}\` | [${status}] `);
  }
});

describe('every alert', () => {
  test('has its section, and no other', () => {
    const titles = [...section('Alerts').matchAll(/^### (\w+)\n(.+)/gm)].map(([, title]) => title);
    expect(titles).toEqual(alerts.map(({ alert }) => alert));
  });

  test.each(alerts.map(({ alert, annotations, labels }) => [alert, annotations, labels] as const))(
    '%s links to it, and says how bad it is',
    (alert, annotations, labels) => {
      expect(annotations['runbook_url']).toMatch(new RegExp(`/RUNBOOK\\.md#${alert.toLowerCase()}$`));
      expect(annotations['summary']?.length).toBeLessThan(120);
      expect(annotations['description']).toMatch(/\.$/);
      expect(['critical', 'warning', 'info']).toContain(labels['severity']);
    },
  );
});

test('what it advises on conflicts of keys can be done', () => {
  const row = (reason: string) => new RegExp(`^\\| \`${reason}\` .*$`, 'm').exec(runbook)?.[0];
  expect(row('HashConflict')).toContain('the message names the older if it is in the same namespace');
  expect(row('SecretConflict')).toContain('`spec.secretName` cannot be changed');
  const key = (secretName: string) => makeKey({ secretName });
  expect(changeProblems(key('one'), key('another'))).toMatchObject([
    { path: 'spec.secretName', reason: 'must not change' },
  ]);
});

test('what the runbook refers to is in it', () => {
  for (const [, name = ''] of runbook.matchAll(/\*(ModelGateway\w+)\*/g))
    expect(runbook).toContain(`### ${name}\n`);
});
