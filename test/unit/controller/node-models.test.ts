import { describe, expect, test } from 'vitest';
import { mergeModels } from '../../../src/controller/upstream-node/models.ts';
import type { StatusModel } from '../../../src/resources/upstream-node.ts';
import { failed, listed, NodeLife, status } from './node-life.ts';
import { nodeOf } from './resources.ts';

const names = (list: readonly string[]) => ({ kind: 'Names', names: list, truncated: false }) as const;
const unasked = { kind: 'Unasked' } as const;
const none = { kind: 'NoEndpoint' } as const;
const entry = (name: string, more: Partial<StatusModel> = {}): StatusModel => ({
  name,
  enabled: true,
  source: 'Discovered',
  ...more,
});

describe('merging', () => {
  const rows: [
    what: string,
    before: StatusModel[],
    spec: Record<string, unknown>,
    listing: Parameters<typeof mergeModels>[2],
    models: StatusModel[],
  ][] = [
    ['discovered, sorted', [], {}, names(['b', 'a']), [entry('a'), entry('b')]],
    [
      'windows that the node tells, and the known ones of a model that it leaves out',
      [entry('gone', { contextTokens: 7 }), entry('a', { contextTokens: 9, outputTokens: 9 })],
      {},
      { ...names(['a', 'b']), windows: new Map([['a', { contextTokens: 5 }]]) },
      [entry('a', { contextTokens: 5 }), entry('b'), entry('gone', { contextTokens: 7, missedSyncs: 1 })],
    ],
    [
      'known windows without a new list',
      [entry('a', { contextTokens: 9, outputTokens: 8 })],
      {},
      unasked,
      [entry('a', { contextTokens: 9, outputTokens: 8 })],
    ],
    [
      'discovered and manual unite',
      [],
      { manualModels: ['b', 'm'] },
      names(['b']),
      [entry('b'), entry('m', { source: 'Manual' })],
    ],
    [
      'new ones start as newModels says, manual ones enabled',
      [],
      { manualModels: ['m'], sync: { newModels: 'Disabled' } },
      names(['a']),
      [entry('a', { enabled: false }), entry('m', { source: 'Manual' })],
    ],
    [
      'known ones stay as they are when newModels changes',
      [entry('a')],
      { sync: { newModels: 'Disabled' } },
      names(['a', 'b']),
      [entry('a'), entry('b', { enabled: false })],
    ],
    [
      'a wish wins over both',
      [],
      {
        manualModels: ['m'],
        models: [
          { name: 'm', enabled: false },
          { name: 'a', enabled: true },
        ],
        sync: { newModels: 'Disabled' },
      },
      names(['a']),
      [entry('a', { startedEnabled: false }), entry('m', { enabled: false, source: 'Manual' })],
    ],
    [
      'what it started as stays beside a wish against it, and beside the manual list',
      [entry('a', { enabled: false, startedEnabled: true }), entry('b', { enabled: false }), entry('c')],
      {
        manualModels: ['b'],
        models: [
          { name: 'a', enabled: false },
          { name: 'c', enabled: true },
        ],
        sync: { newModels: 'Disabled' },
      },
      names(['a', 'b', 'c']),
      [
        entry('a', { enabled: false, startedEnabled: true }),
        entry('b', { startedEnabled: false }),
        entry('c'),
      ],
    ],
    [
      'a wish that is taken back leaves what it started as',
      [entry('a', { enabled: false, startedEnabled: true }), entry('b', { startedEnabled: false })],
      { models: [{ name: 'b', aliases: ['x'] }] },
      unasked,
      [entry('a'), entry('b', { enabled: false })],
    ],
    [
      'a manual one that is discovered later started as newModels said then',
      [entry('m', { enabled: false, source: 'Manual' })],
      { manualModels: ['m'], models: [{ name: 'm', enabled: false }] },
      names(['m']),
      [entry('m', { enabled: false, startedEnabled: true })],
    ],
    [
      'a wish without enabled says nothing',
      [entry('a', { enabled: false })],
      { models: [{ name: 'a', aliases: ['x'] }] },
      names(['a']),
      [entry('a', { enabled: false })],
    ],
    [
      'a wish for what nobody has adds nothing',
      [],
      { models: [{ name: 'ghost', enabled: true }] },
      names([]),
      [],
    ],
    [
      'what the patterns leave out does not exist, whether it is listed or was known; manual ones do',
      [entry('old-a'), entry('keep-b')],
      {
        manualModels: ['old-manual'],
        sync: { models: { include: ['keep-*', 'old-*', 'x'], exclude: ['old-*'] } },
      },
      names(['keep-a', 'keep-b', 'old-a', 'other', 'x']),
      [entry('keep-a'), entry('keep-b'), entry('old-manual', { source: 'Manual' }), entry('x')],
    ],
    [
      'without include every name is meant',
      [entry('a:free'), entry('b')],
      { sync: { models: { include: [], exclude: ['*:free'] } } },
      unasked,
      [entry('b')],
    ],
    ['missed once', [entry('a')], {}, names(['b']), [entry('a', { missedSyncs: 1 }), entry('b')]],
    ['missed twice', [entry('a', { missedSyncs: 1 })], {}, names([]), [entry('a', { missedSyncs: 2 })]],
    ['missed three times: gone', [entry('a', { missedSyncs: 2 })], {}, names([]), []],
    [
      'back again',
      [entry('a', { missedSyncs: 2, enabled: false })],
      {},
      names(['a']),
      [entry('a', { enabled: false })],
    ],
    ['not asked: as it was', [entry('a', { missedSyncs: 2 })], {}, unasked, [entry('a', { missedSyncs: 2 })]],
    [
      'no listing counts as missed',
      [entry('a')],
      { manualModels: ['m'] },
      none,
      [entry('a', { missedSyncs: 1 }), entry('m', { source: 'Manual' })],
    ],
    [
      'a listing that was cut off misses nothing',
      [entry('a')],
      {},
      { ...names(['b']), truncated: true },
      [entry('a'), entry('b')],
    ],
    ['a manual one that left the list', [entry('m', { source: 'Manual' })], {}, unasked, []],
    ['a manual one that was discovered too stays', [entry('m')], {}, unasked, [entry('m')]],
    [
      'a manual one outlives its discovery',
      [entry('m', { missedSyncs: 2 })],
      { manualModels: ['m'] },
      names([]),
      [entry('m', { source: 'Manual' })],
    ],
    [
      'put on the manual list, a disabled one is enabled',
      [entry('m', { enabled: false })],
      { manualModels: ['m'] },
      unasked,
      [entry('m', { startedEnabled: false })],
    ],
    [
      'discovery: Never leaves the manual ones alone',
      [entry('a')],
      { manualModels: ['m'], sync: { discovery: 'Never' } },
      unasked,
      [entry('m', { source: 'Manual' })],
    ],
    [
      'names that cannot be used are left out',
      [],
      {},
      names(['*', '', ' a', 'a\nb', 'x'.repeat(513), 'ok']),
      [entry('ok')],
    ],
  ];
  test.each(rows)('%s', (_, before, spec, listing, models) => {
    expect(mergeModels(before, nodeOf('n', spec).spec, listing).models).toEqual(models);
  });

  test('bounded in number: manual ones first, then known ones', () => {
    const many = Array.from({ length: 6_000 }, (_, index) => `m-${String(index).padStart(5, '0')}`);
    const merged = mergeModels(
      [entry('zz')],
      nodeOf('n', { manualModels: ['zzz'] }).spec,
      names([...many, 'zz']),
    );
    expect(merged.models).toHaveLength(5_000);
    expect(merged.truncated).toBe(true);
    expect(merged.models.slice(-2).map(({ name }) => name)).toEqual(['zz', 'zzz']);
  });

  test('patterns are judged before the bound: of 6,000 models the wanted one is there', () => {
    const many = Array.from({ length: 6_000 }, (_, index) => `m-${String(index).padStart(5, '0')}`);
    const spec = nodeOf('n', { sync: { models: { include: ['*-05999'] } } }).spec;
    const merged = mergeModels([], spec, names(many));
    expect(merged).toMatchObject({ truncated: false, models: [entry('m-05999')] });
  });

  test('bounded in bytes', () => {
    const long = Array.from({ length: 3_000 }, (_, index) => `${index}-${'é'.repeat(500)}`);
    const merged = mergeModels([], nodeOf('n').spec, names(long));
    expect(merged.truncated).toBe(true);
    const bytes = Buffer.byteLength(JSON.stringify(merged.models));
    expect(bytes).toBeLessThanOrEqual(640 * 1_024);
    expect(bytes).toBeGreaterThan(600 * 1_024);
  });
});

describe('syncs', () => {
  test('a failed sync never shrinks the list, and says why until one succeeds', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(listed('a', 'b'));
    for (let times = 0; times < 4; times += 1) {
      life.annotate(`${times}`);
      life.answer(status(500));
    }
    expect(life.models).toEqual(['a', 'b']);
    expect(life.node.status?.lastSyncError).toBe('GET {baseURL}/models answered 500. It is tried again.');
    expect(life.conditions[2]).toBe('ModelsSynced=False UpstreamError');
    life.answer(listed('a', 'b'));
    expect(life.node.status).not.toHaveProperty('lastSyncError');
    expect(life.conditions[2]).toBe('ModelsSynced=True ModelsSynced');
  });

  test('a model goes after three successful syncs without it, with Events', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(listed('a', 'b'));
    const seen = [1, 2, 3].map((value) => {
      life.annotate(`${value}`);
      life.answer(listed('b'));
      return [life.models.join(), life.last?.events.map(({ note }) => note).join()];
    });
    expect(seen).toEqual([
      ['a?1,b', ''],
      ['a?2,b', ''],
      ['b', 'Removed 1 model: a.'],
    ]);
  });

  test('404 is a listing that is not there: with a manual list the sync succeeded', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(status(404));
    expect(life.conditions).toEqual([
      'Ready=False NoModels',
      'Reachable=True Healthy',
      'ModelsSynced=False NoModels',
      'CredentialsResolved=True CredentialsResolved',
      'Stalled=True NoModels',
    ]);
    expect(life.node.status?.lastSyncError).toContain('Set spec.manualModels');
    life.edit({ manualModels: ['m'] });
    expect([life.phase, life.models, life.node.status?.lastSyncError]).toEqual(['ready', ['m'], undefined]);
    expect(life.last?.contact).toBeUndefined();
    expect(life.conditions).toEqual([
      'Ready=True Configured',
      'Reachable=True Healthy',
      'ModelsSynced=True ManualModelsApplied',
      'CredentialsResolved=True CredentialsResolved',
    ]);
    life.annotate('1');
    life.answer(status(404));
    expect([life.phase, life.conditions[2], life.conditions.length]).toEqual([
      'ready',
      'ModelsSynced=True ManualModelsApplied',
      4,
    ]);
  });

  test('404, and there is a listing below /v1: the condition, the Event and the error say what to set', () => {
    const answer = { ...status(404), versionedBaseURL: 'http://models.example.com/v1' };
    const message =
      'GET {baseURL}/models answered 404, but {baseURL}/v1/models is there: is /v1 missing? Set spec.baseURL to http://models.example.com/v1.';
    const messages = () => life.node.status?.conditions?.map((condition) => condition.message) ?? [];
    const life = new NodeLife();
    life.plan();
    life.answer(answer);
    expect([life.phase, life.conditions[0], life.models]).toEqual(['idle', 'Ready=False NoModels', []]);
    expect([messages()[0], messages()[2]]).toEqual([message, message]);
    expect(life.node.status?.lastSyncError).toBe(message);
    expect(life.last?.events).toEqual([
      { type: 'Warning', reason: 'NoModels', action: 'SyncModels', note: message },
    ]);
    // The same answer again makes no second Event.
    life.answer(answer);
    expect(messages()[0]).toBe(message);
    expect(life.last?.events).toEqual([]);
    life.edit({ manualModels: ['m'] });
    life.annotate('2');
    life.answer(answer);
    expect([life.phase, life.conditions[2]]).toEqual(['ready', 'ModelsSynced=True ManualModelsApplied']);
    expect(messages()[2]).toBe(`The model list is the manual one. ${message}`);
  });

  test('404 without a manual list is a failed sync: the list stays, however often it comes', () => {
    const life = new NodeLife({ sync: { intervalSeconds: 60 } });
    life.plan();
    life.answer(listed('a', 'b'));
    for (let times = 0; times < 5; times += 1) {
      life.annotate(`${times}`);
      life.answer(status(404));
    }
    expect([life.phase, life.models]).toEqual(['error', ['a', 'b']]);
    expect(life.conditions).toEqual([
      'Ready=False NoModels',
      'Reachable=True Healthy',
      'ModelsSynced=False NoModels',
      'CredentialsResolved=True CredentialsResolved',
      'Stalled=True NoModels',
    ]);
    life.answer(listed('a', 'b'));
    expect([life.phase, life.models, life.node.status?.lastSyncError]).toEqual([
      'ready',
      ['a', 'b'],
      undefined,
    ]);
  });

  test('a manual list heals a node that answered 404, without contacting it', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(listed('a'));
    life.annotate('1');
    life.answer(status(404));
    expect(life.phase).toBe('error');
    expect(life.edit({ manualModels: ['m'] }).contact).toBeUndefined();
    expect([life.phase, life.models, life.conditions[0]]).toEqual([
      'ready',
      ['a', 'm'],
      'Ready=True Configured',
    ]);
    expect(life.conditions).toHaveLength(4);
  });

  test('a manual list at creation is applied at once; the first contact is the first check', () => {
    const life = new NodeLife({ manualModels: ['m'] });
    const made = life.plan();
    expect(made.contact).toBeUndefined();
    expect([life.phase, life.models, life.conditions[2]]).toEqual([
      'idle',
      ['m'],
      'ModelsSynced=True ManualModelsApplied',
    ]);
    expect(life.node.status).not.toHaveProperty('lastSyncTime');
    const waited = ((made.nextDueMs ?? 0) - life.nowMs) / 1_000;
    expect(waited).toBeGreaterThanOrEqual(54);
    expect(waited).toBeLessThanOrEqual(66);
    expect(life.untilDue().contact?.kind).toBe('check');
    life.answer(status(200));
    expect(life.phase).toBe('ready');
  });

  test('a manual list at creation without health checks waits for the scheduled sync, and is ready', () => {
    const life = new NodeLife({ manualModels: ['m'], healthCheck: { mode: 'None' } });
    const made = life.plan();
    expect(life.conditions).toEqual([
      'Ready=True Configured',
      'Reachable=Unknown NotChecked',
      'ModelsSynced=True ManualModelsApplied',
      'CredentialsResolved=True CredentialsResolved',
    ]);
    const waited = ((made.nextDueMs ?? 0) - life.nowMs) / 1_000;
    expect(waited).toBeGreaterThanOrEqual(3_240);
    expect(life.untilDue().contact?.kind).toBe('sync');
  });

  test('excluded models go at once and nobody is contacted; let in again they are asked for', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(listed('a', 'b:free', 'c:free'));
    const narrower = life.edit({ sync: { ...life.node.spec.sync, models: { exclude: ['*:free'] } } });
    expect([life.models, narrower.contact]).toEqual([['a'], undefined]);
    expect(narrower.events.map(({ note }) => note)).toEqual(['Removed 2 models: b:free, c:free.']);
    expect(life.node.status).toMatchObject({ modelCount: 1, enabledModelCount: 1, enabledModels: '1/1' });
    const wider = life.edit({ sync: { ...life.node.spec.sync, models: { exclude: ['b*'] } } });
    expect(wider.contact).toMatchObject({ kind: 'sync', cause: 'spec.sync.models changed' });
    // Until it has answered the question stays, whatever else is edited.
    expect(life.edit({ weight: 7 }).contact).toMatchObject({ kind: 'sync' });
    life.answer(listed('a', 'b:free', 'c:free'));
    expect(life.models).toEqual(['a', 'c:free']);
    expect(life.plan().contact).toBeUndefined();
    const back = life.edit({ sync: { ...life.node.spec.sync, models: undefined } });
    expect(back.contact).toMatchObject({ kind: 'sync' });
  });

  test('patterns that leave nothing are named as the cause', () => {
    const life = new NodeLife({ sync: { models: { include: ['nothing-like-it'] } } });
    life.plan();
    life.answer(listed('a', 'b'));
    expect([life.phase, life.conditions[0]]).toEqual(['idle', 'Ready=False NoModels']);
    const ready = life.node.status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready?.message).toContain('spec.sync.models leaves none');
  });

  test('the last successful sync is told apart from the last try', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(listed('a'));
    const good = life.node.status?.lastSyncTime;
    expect(life.node.status?.lastSuccessfulSyncTime).toBe(good);
    life.nowMs += 600_000;
    life.annotate('1');
    life.answer(status(500));
    expect(life.node.status?.lastSuccessfulSyncTime).toBe(good);
    expect(life.node.status?.lastSyncTime).not.toBe(good);
    life.nowMs += 600_000;
    life.annotate('2');
    life.answer(listed('a'));
    const { lastSyncTime, lastSuccessfulSyncTime } = life.node.status ?? {};
    expect(lastSuccessfulSyncTime).toBe(lastSyncTime);
    expect(lastSuccessfulSyncTime).not.toBe(good);
  });

  test('a status of an earlier version, which does not tell them apart, is taken for what it says', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(listed('a'));
    const { lastSuccessfulSyncTime, ...older } = life.node.status ?? {};
    life.node = { ...life.node, status: older };
    life.nowMs += 600_000;
    life.annotate('1');
    life.answer(status(500));
    expect(life.node.status?.lastSuccessfulSyncTime).toBe(lastSuccessfulSyncTime);
  });

  test('a later change of the manual list applies at once and contacts nobody', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(listed('a'));
    const made = life.edit({ manualModels: ['m'] });
    expect([life.models, made.contact]).toEqual([['a', 'm'], undefined]);
    life.edit({ manualModels: [] });
    expect(life.models).toEqual(['a']);
  });

  test('a wish that is taken back leaves a model as it was, at once and whatever newModels says meanwhile', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(listed('a', 'b'));
    const disabled = { models: [{ name: 'a', enabled: false }], sync: { newModels: 'Disabled' } };
    life.edit(disabled);
    expect([life.models, life.node.status?.enabledModelCount]).toEqual([['a-', 'b'], 1]);
    life.annotate('1');
    life.answer(listed('a', 'b'));
    life.restart();
    expect(life.edit({ models: [] }).contact).toBeUndefined();
    expect(life.models).toEqual(['a', 'b']);
    expect(life.node.status?.models?.[0]).not.toHaveProperty('startedEnabled');
  });

  test('discovery: Never asks nobody for models, whatever asks for a sync', () => {
    const life = new NodeLife({ manualModels: ['m'], sync: { discovery: 'Never' } });
    life.plan();
    expect([life.last?.contact, life.models, life.node.status?.lastSyncTime]).toEqual([
      undefined,
      ['m'],
      '2027-01-01T00:00:00Z',
    ]);
    life.nowMs += 5_000;
    life.annotate('1');
    expect(life.last?.contact).toBeUndefined();
    expect(life.node.status).toMatchObject({
      lastHandledSyncRequest: '1',
      lastSyncTime: '2027-01-01T00:00:05Z',
    });
    expect(life.edit({ baseURL: 'http://other/v1' }).contact?.kind).toBe('check');
    expect(life.plan().status).toBeUndefined();
    life.answer(status(404));
    expect(life.phase).toBe('ready');
    life.edit({ sync: { discovery: 'Always' } });
    expect(life.last?.contact?.kind).toBe('sync');
    life.answer(listed('a'));
    expect(life.models).toEqual(['a', 'm']);
    life.edit({ sync: { discovery: 'Never' } });
    expect([life.models, life.conditions[2]]).toEqual([['m'], 'ModelsSynced=True ManualModelsApplied']);
  });

  test('discovery: Never without a manual list is stalled; never contacted at all, a node is as ready as it gets', () => {
    const life = new NodeLife({ sync: { discovery: 'Never' } });
    life.plan();
    expect(life.conditions).toContain('Stalled=True NoModels');
    const silent = new NodeLife({
      manualModels: ['m'],
      sync: { discovery: 'Never' },
      healthCheck: { mode: 'None' },
    });
    expect(silent.plan()).toMatchObject({ contact: undefined, nextDueMs: undefined });
    expect([silent.phase, silent.conditions[0]]).toEqual(['idle', 'Ready=True Configured']);
    silent.nowMs += 1_000;
    expect(silent.edit({ baseURL: 'http://other/v1' }).contact).toBeUndefined();
    expect(silent.conditions[0]).toBe('Ready=True Configured');
    expect(silent.plan().status).toBeUndefined();
  });

  test('a sync that fails again as before is not due again at once, however short its interval', () => {
    const life = new NodeLife({
      sync: { intervalSeconds: 60 },
      healthCheck: { intervalSeconds: 3_600, failureThreshold: 1 },
    });
    life.plan();
    life.answer(failed('total_timeout'));
    for (let times = 0; times < 3; times += 1) {
      const began = life.nowMs;
      life.answer(failed('total_timeout'));
      expect(life.last?.contact).toBeUndefined();
      expect(life.nowMs - began).toBeGreaterThan(50_000);
    }
  });

  test('suspend: the discovered models stay as they are, whatever asks for a sync; checks and manual models go on', () => {
    const life = new NodeLife({ sync: { intervalSeconds: 60 } });
    life.plan();
    life.answer(listed('a', 'b'));
    const suspended = { ...life.node.spec.sync, suspend: true };
    life.edit({ sync: suspended, manualModels: ['m'] });
    expect(life.models).toEqual(['a', 'b', 'm']);
    expect(life.edit({ sync: { ...suspended, models: { exclude: ['b'] } } }).contact).toBeUndefined();
    expect(life.edit({ sync: { ...suspended, discovery: 'Never' } }).contact).toBeUndefined();
    life.edit({ sync: { ...suspended, models: { exclude: ['b'] } } });
    expect(life.annotate('1').contact).toBeUndefined();
    for (let times = 0; times < 5; times += 1) {
      expect(life.untilDue().contact?.kind).toBe('check');
      life.plan(status(200));
    }
    expect([life.phase, life.models]).toEqual(['ready', ['a', 'b', 'm']]);
    // A new connection is checked, and the node is ready with the list that it has.
    expect(life.edit({ baseURL: 'http://other/v1' }).contact?.kind).toBe('check');
    life.plan(status(200));
    expect([life.phase, life.conditions[0]]).toEqual(['ready', 'Ready=True Configured']);
    expect(life.plan().status).toBeUndefined();
    const resumed = life.edit({ sync: { ...suspended, suspend: false, models: { exclude: ['b'] } } });
    expect([resumed.contact?.kind, life.models]).toEqual(['sync', ['a', 'm']]);
  });

  test('suspended before its first sync, a node is stalled without a manual list', () => {
    const life = new NodeLife({ sync: { suspend: true } });
    life.plan();
    expect(life.conditions).toContain('Stalled=True NoModels');
    expect(life.edit({ manualModels: ['m'] }).contact).toBeUndefined();
    expect(life.conditions[0]).toBe('Ready=True Configured');
  });

  test('any new value of the annotation asks for a sync, whose end is echoed, good or bad', () => {
    const life = new NodeLife({ manualModels: ['m'] });
    life.plan();
    expect(life.annotate('1').contact).toMatchObject({ kind: 'sync', urgency: 'Urgent' });
    expect(life.node.status).not.toHaveProperty('lastHandledSyncRequest');
    life.answer(failed('dns'));
    expect(life.node.status?.lastHandledSyncRequest).toBe('1');
    expect(life.plan().contact).toBeUndefined();
    life.annotate('0');
    life.answer(listed());
    expect(life.node.status?.lastHandledSyncRequest).toBe('0');
    expect(life.restart().contact).toBeUndefined();
  });

  test('a list that is too long is cut and says so', () => {
    const life = new NodeLife();
    life.plan();
    life.answer({ kind: 'models', names: ['a'], truncated: true });
    expect(life.node.status?.modelsTruncated).toBe(true);
    expect(life.conditions[2]).toBe('ModelsSynced=True ModelsTruncated');
    expect(life.last?.events.map(({ reason }) => reason)).toContain('ModelsTruncated');
    life.answer(status(200));
    expect(life.node.status?.modelsTruncated).toBe(true);
    life.annotate('1');
    life.answer(listed('a'));
    expect(life.node.status).not.toHaveProperty('modelsTruncated');
  });
});
