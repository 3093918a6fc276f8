import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { confirm } from '../../../src/cli/confirm.ts';
import type { Declared } from '../../../src/cli/edit/declarations.ts';
import { changedFields, overlaps } from '../../../src/cli/edit/difference.ts';
import { pickModels } from '../../../src/cli/model/pick-models.ts';
import { knownModels } from '../../../src/cli/model/servers.ts';
import { syncOutcome } from '../../../src/cli/node/sync-outcome.ts';
import { nodeText } from '../../../src/cli/node/text.ts';
import { duration } from '../../../src/cli/place.ts';
import { table } from '../../../src/cli/table.ts';
import { textDiff } from '../../../src/cli/text-diff.ts';
import { parseStored } from '../../../src/resources/parse.ts';
import type { UpstreamNode } from '../../../src/resources/upstream-node.ts';

function node(name: string, spec: object = {}, status?: object): UpstreamNode {
  const parsed = parseStored({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { name, uid: `uid-${name}` },
    spec: { baseURL: 'https://x.example/v1', ...spec },
    ...(status === undefined ? {} : { status }),
  });
  if (!('resource' in parsed) || parsed.resource.kind !== 'UpstreamNode')
    throw new Error(JSON.stringify(parsed));
  return parsed.resource;
}

test('a table aligns wide characters, colours without moving columns, and lets nothing steer the terminal', () => {
  const cell = (text: string, tint?: 'good') => ({ text, tint });
  const rows = [
    [cell('名前'), cell('a')],
    [cell('x\u001b[2J', 'good'), cell('line\nend\u202e')],
  ];
  expect(table(rows, false)).toBe('名前         a\nx\\u{1b}[2J   line end\\u{202e}\n');
  expect(table([[cell('ok', 'good'), cell('b')]], true)).toBe('\u001b[32mok\u001b[39m   b\n');
});

const diffs: [string, string, string][] = [
  ['a\nb\n', 'a\nb\n', ''],
  ['a\nb\nc\n', 'a\nx\nc\n', ' a\n-b\n+x\n c\n'],
  ['1\n2\n3\n4\n5\n6\n', '1\n2\n3\n4\n5\n6\n7\n', '...\n 4\n 5\n 6\n+7\n'],
  ['a\n', '', '-a\n+\n'],
];
test.each(diffs)('the difference of %j and %j', (before, after, wanted) => {
  expect(textDiff(before, after)).toBe(wanted);
});

test('fields that differ, entries told apart by name', () => {
  const before = { spec: { priority: 1, models: [{ name: 'a', enabled: true }], manualModels: ['x'] } };
  const after = {
    spec: { priority: 2, models: [{ name: 'a', enabled: false }, { name: 'b' }], manualModels: ['y'] },
  };
  const changed = changedFields(before, after);
  expect(changed).toEqual(['spec.priority', 'spec.models[a].enabled', 'spec.models[b]', 'spec.manualModels']);
  expect(overlaps('spec.models[a]', changed)).toBe(true);
  expect(overlaps('spec.models[a].aliases', changed)).toBe(false);
  expect(overlaps('spec.prior', changed)).toBe(false);
});

const words: [string, string[], number][] = [
  ['gpt-5', ['gpt-5'], 0],
  ['gpt-*', ['gpt-5', 'gpt-5-mini'], 0],
  ['*', ['a.b', 'gpt-5', 'gpt-5-mini'], 0],
  ['?.b', ['a.b'], 0],
  ['?xb', [], 1],
  ['*mini*', ['gpt-5-mini'], 0],
  ['best', [], 1],
  ['gtp-5', [], 1],
  [`${'*a'.repeat(40)}b`, [], 1],
];
test.each(words)('the models that %s means', (word, wanted, problems) => {
  const spec = {
    manualModels: ['gpt-5', 'gpt-5-mini', 'a.b'],
    models: [{ name: 'gpt-5', aliases: ['best'] }],
  };
  const picked = pickModels(node('n', spec), [word]);
  expect(picked.models.map(({ name }) => name)).toEqual(wanted);
  expect(picked.problems.length).toBe(problems);
});

test('who serves a model: by priority, last resorts after the healthy, the rest at the end with the reason', () => {
  const now = Date.parse('2026-01-01T01:00:00Z');
  const model = { manualModels: ['m'] };
  const failing = (lastHealthCheckTime: string) => ({ phase: 'error', lastHealthCheckTime });
  const nodes = [
    node('off', { ...model, enabled: false }),
    node('low', { ...model, priority: 10 }),
    node('failing', { ...model, priority: 90 }, failing('2026-01-01T00:59:00Z')),
    node('stale', { ...model, priority: 80 }, failing('2026-01-01T00:30:00Z')),
    node('one', { ...model, priority: 70, weight: 25 }),
    node('two', { ...model, priority: 70, weight: 75 }),
    node('without', { ...model, models: [{ name: 'm', enabled: false }] }),
  ];
  const [known] = knownModels(nodes, now);
  expect(
    known?.servers.map(({ node: { metadata }, state, turn, share }) => [metadata.name, state, turn, share]),
  ).toEqual([
    ['stale', 'serves', 1, 1],
    ['two', 'serves', 2, 0.75],
    ['one', 'serves', 2, 0.25],
    ['low', 'serves', 3, 1],
    ['failing', 'last resort', 4, 1],
    ['off', 'node disabled', undefined, undefined],
    ['without', 'model disabled', undefined, undefined],
  ]);
});

test('what came of a sync', () => {
  const models = (...names: string[]) => names.map((name) => ({ name, enabled: true, source: 'Discovered' }));
  const before = node('n', {}, { models: models('a', 'b') });
  const asked = { before, request: 'now' };
  const after = (status: object) => syncOutcome(asked, node('n', {}, status));
  expect(after({ models: models('a') })).toBeUndefined();
  expect(after({ models: models('a', 'c', 'd'), lastHandledSyncRequest: 'now' })).toEqual({
    failed: false,
    text: 'synced: 3 models, 2 added (c, d), 1 removed (b)',
  });
  const missed = [...models('a'), { name: 'b', enabled: true, source: 'Discovered', missedSyncs: 1 }];
  expect(after({ models: missed, lastHandledSyncRequest: 'now' })?.text).toBe(
    'synced: 2 models, 1 not listed any more, removed after three such syncs (b)',
  );
  expect(after({ lastHandledSyncRequest: 'now', lastSyncError: 'HTTP 401.' })).toEqual({
    failed: true,
    text: 'sync failed: HTTP 401.',
  });
  expect(syncOutcome(asked, undefined)?.failed).toBe(true);
});

test('the time of a health check says how seldom it is written, for checks may be seconds apart', () => {
  const declared = { resource: node('n', {}, { lastHealthCheckTime: '2026-11-21T04:00:00Z' }), source: 'n' };
  const text = nodeText(declared as Declared<'UpstreamNode'>, {
    now: new Date('2026-11-21T04:04:00Z'),
    colour: false,
  });
  expect(text).toMatch(
    /^Last health check: +2026-11-21T04:00:00Z \(4m ago\); written at most every 5 minutes while nothing changes$/m,
  );
});

test('times as kubectl takes them', () => {
  const table: [string, number][] = [
    ['30', 30_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['0', 0],
  ];
  for (const [text, ms] of table) expect(duration(text)).toBe(ms);
  for (const text of ['soon', '1d', '-1', '1.5s', '']) expect(() => duration(text)).toThrow('Give a time');
});

test.each([
  ['y\n', undefined],
  ['YES\n', undefined],
  ['\n', 'nothing was changed'],
  ['no\n', 'nothing was changed'],
])('a question on a terminal, answered %j', async (answer, refusal) => {
  const stdin = new PassThrough();
  let asked = '';
  const write = (text: string) => {
    asked += text;
  };
  const isTerminal = { stdin: true, stdout: true, stderr: true };
  const asking = confirm(
    { stdin, err: { write }, isTerminal, signal: AbortSignal.timeout(5_000) },
    'Delete it?',
  );
  stdin.end(answer);
  if (refusal === undefined) await asking;
  else await expect(asking).rejects.toThrow(refusal);
  expect(asked).toBe('Delete it? [y/N] ');
});
