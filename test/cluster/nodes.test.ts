import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { aSecondMs, measured, timeUntil } from '../support/measured.ts';
import { condition, type Stored } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
let key: string;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['nodes'] });
  key = await stage.resources.addKey(stage.home, 'caller');
  await eventually('the key opens', async () => (await stage.caller(key).chat('none')).status === 404);
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const phaseIs = (phase: string) => (node: Stored) => node.status?.phase === phase;
const names = (node: Stored) => (node.status?.models ?? []).map(({ name }) => name).sort();

describe.concurrent('a node', () => {
  test('goes through error to offline when its server is gone, and back to ready', async () => {
    const healthCheck = { intervalSeconds: 10, failureThreshold: 2, timeoutSeconds: 1 };
    const upstream = await stage.addNode('fading', { spec: { healthCheck } });
    await stage.until('ready', 'UpstreamNode', 'fading', phaseIs('ready'));
    upstream.pause();
    const failed = await stage.until('error', 'UpstreamNode', 'fading', phaseIs('error'));
    expect(condition(failed, 'Reachable')).toBe('False UpstreamUnreachable');
    const offline = await stage.until('offline', 'UpstreamNode', 'fading', phaseIs('offline'));
    expect(condition(offline, 'Reachable')).toBe('False UpstreamUnreachable');
    // An outage of the model server is no fault of the manifest: a pipeline that waits for it goes on.
    expect(condition(offline, 'Ready')).toBe('True Configured');
    expect(condition(offline, 'Stalled')).toBeUndefined();
    // What it served is still known, and it is still tried as a last resort.
    expect(names(offline)).toEqual(['fading-model']);
    expect((await stage.caller(key).chat('fading-model')).status).toBe(502);
    await upstream.resume();
    const back = await stage.until('ready again', 'UpstreamNode', 'fading', phaseIs('ready'));
    expect(condition(back, 'Reachable')).toBe('True Healthy');
  });

  test('with a manual list at its creation serves it at once and is not contacted', async () => {
    const spec = { manualModels: ['by-hand'], sync: { discovery: 'Always' } };
    const upstream = await stage.addNode('manual', { upstream: { models: ['found'] }, spec });
    const node = await stage.until('applied', 'UpstreamNode', 'manual', (each) => names(each).length > 0);
    expect(node.status).toMatchObject({
      phase: 'idle',
      models: [{ name: 'by-hand', enabled: true, source: 'Manual' }],
    });
    expect(upstream.requests).toEqual([]);
    const answer = await stage.caller(key).chat('by-hand');
    expect(answer.status).toBe(200);
    // Its first check is due no sooner than a tenth of the interval (60 s) after it was added.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(upstream.requestsTo('/models')).toEqual([]);
  });

  test('is synced, served, and out of routing within a second of a change to its spec', async () => {
    const upstream = await stage.addNode('served', { upstream: { models: ['one', 'two'] } });
    await stage.until('ready', 'UpstreamNode', 'served', phaseIs('ready'));
    const caller = stage.caller(key);
    await eventually('both are listed', async () => (await caller.models()).includes('two'));
    expect((await caller.chat('one')).headers.get('x-model-gateway-node')).toBe(`${stage.home}/served`);
    const { generation } = (await stage.resources.get('UpstreamNode', stage.home, 'served')).metadata;
    expect(generation).toBe(1);
    const patch = (spec: Record<string, unknown>) => () =>
      stage.resources.patch('UpstreamNode', stage.home, 'served', { spec });
    const answers = (model: string, code: string | undefined) => async () =>
      (await caller.chat(model)).code === code;

    const disabled = patch({ models: [{ name: 'one', enabled: false }] });
    measured(
      'model disabled, gone from routing',
      await timeUntil('refused', disabled, answers('one', 'model_disabled')),
      aSecondMs,
    );
    expect(await caller.models()).not.toContain('one');
    expect((await caller.chat('two')).status).toBe(200);
    const status = await stage.until(
      'status says so',
      'UpstreamNode',
      'served',
      (node) => node.status?.['enabledModelCount'] === 1,
    );
    expect(status.status).toMatchObject({ modelCount: 2, observedGeneration: 2 });

    measured(
      'model enabled, back in routing',
      await timeUntil('served', patch({ models: null }), answers('one', undefined)),
      aSecondMs,
    );
    measured(
      'node disabled, gone from routing',
      await timeUntil('refused', patch({ enabled: false }), answers('one', 'model_disabled')),
      aSecondMs,
    );
    const before = upstream.requestsTo('/chat/completions').length;
    expect((await caller.chat('two')).code).toBe('model_disabled');
    expect(upstream.requestsTo('/chat/completions')).toHaveLength(before);
    // Disabled is no phase: it is still checked and synced.
    expect((await stage.resources.get('UpstreamNode', stage.home, 'served')).status?.phase).toBe('ready');
    measured(
      'node deleted, unknown',
      await timeUntil(
        'unknown',
        () => stage.resources.remove('UpstreamNode', stage.home, 'served'),
        answers('one', 'model_not_found'),
      ),
      aSecondMs,
    );
  });

  test('is synced again when its annotation changes, and loses a model after three syncs without it', async () => {
    const upstream = await stage.addNode('listing', { upstream: { models: ['stays', 'goes'] } });
    await stage.until('ready', 'UpstreamNode', 'listing', phaseIs('ready'));
    const request = async (value: string) => {
      const annotations = { 'modelgateway.dev/sync-requested-at': value };
      await stage.resources.patch('UpstreamNode', stage.home, 'listing', { metadata: { annotations } });
      return stage.until(
        `sync ${value}`,
        'UpstreamNode',
        'listing',
        (node) => node.status?.['lastHandledSyncRequest'] === value,
      );
    };
    upstream.answers.models = ['stays', 'comes'];
    const listed = upstream.requestsTo('/models').length;
    expect(names(await request('one'))).toEqual(['comes', 'goes', 'stays']);
    expect(upstream.requestsTo('/models')).toHaveLength(listed + 1);
    expect(names(await request('two'))).toEqual(['comes', 'goes', 'stays']);
    const gone = await request('three');
    expect(names(gone)).toEqual(['comes', 'stays']);
    // The annotation moves no generation, and neither did any status.
    expect(gone.metadata.generation).toBe(1);

    // A failed sync never shrinks the list, and says what is wrong without the body.
    upstream.answers.modelsStatus = 500;
    const failed = await request('four');
    expect(names(failed)).toEqual(['comes', 'stays']);
    expect(failed.status?.['lastSyncError']).toMatch(/500/);
    expect(condition(failed, 'ModelsSynced')).toBe('False UpstreamError');
    expect(failed.status?.phase).toBe('error');
  });

  test('stalls for a Secret that is missing, and goes on by itself when it is there', async () => {
    const spec = { apiKeySecretRef: { name: 'late' } };
    const upstream = await stage.addNode('waiting', { upstream: { apiKey: 'sk-late' }, spec });
    const stalled = await stage.until('stalled', 'UpstreamNode', 'waiting', (node) =>
      Boolean(condition(node, 'Stalled')),
    );
    expect(condition(stalled, 'CredentialsResolved')).toBe('False SecretNotFound');
    expect(stalled.status).toMatchObject({ apiKeySet: false });
    expect(upstream.requests).toEqual([]);
    await stage.resources.addSecret(stage.home, 'late', { apiKey: 'sk-late\n' });
    const ready = await stage.until('ready', 'UpstreamNode', 'waiting', phaseIs('ready'));
    expect(ready.status).toMatchObject({ apiKeySet: true });
    await eventually('it serves', async () => (await stage.caller(key).chat('waiting-model')).status === 200);

    // A changed Secret is taken up by both: the controller syncs, the gateway sends the new value.
    const path = `/api/v1/namespaces/${stage.home}/secrets/late`;
    await stage.cluster.client.ask('PATCH', path, { body: { stringData: { apiKey: 'sk-wrong' } } });
    const refused = await stage.until('refused', 'UpstreamNode', 'waiting', phaseIs('error'));
    expect(condition(refused, 'Ready')).toBe('False AuthenticationFailed');
    expect(JSON.stringify(refused.status)).not.toContain('sk-wrong');
    expect((await stage.caller(key).chat('waiting-model')).status).toBe(502);
  });
});
