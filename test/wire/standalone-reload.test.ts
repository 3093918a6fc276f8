import { rename } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../support/caller.ts';
import { eventually } from '../support/eventually.ts';
import { measured, timeUntil } from '../support/measured.ts';
import { keyWithHash, manifest, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

const key = keyWithHash();
let one: ScriptedUpstream;
let two: ScriptedUpstream;
let standalone: Standalone;
let caller: Caller;

beforeAll(async () => {
  one = await startUpstream({ models: ['found'] });
  two = await startUpstream({ models: ['found'] });
  standalone = await startStandalone({
    manifests: { 'key.yaml': manifest('APIKey', 'k', { hash: key.hash }) },
  });
  caller = standalone.caller(key.text);
});
afterAll(async () => {
  await standalone[Symbol.asyncDispose]();
  await Promise.all([one.stop(), two.stop()]);
});

const node = (name: string, spec: Record<string, unknown>) =>
  manifest('UpstreamNode', name, { baseURL: one.url, sync: { discovery: 'Never' }, ...spec });
const write = (file: string, text: string) => standalone.folders.write(file, text);
const answers = (model: string, status: number, code?: string) => async () => {
  const answer = await caller.chat(model);
  return answer.status === status && answer.code === code;
};

/** Makes a change and times until a chat with the model gets that answer. */
async function bites(
  what: string,
  change: () => Promise<unknown>,
  ...[model, status, code]: [model: string, status: number, code?: string]
): Promise<void> {
  measured(what, await timeUntil(what, change, answers(model, status, code)), 1000);
}

test('a node comes, changes and goes within a second', async () => {
  const file = 'comes.yaml';
  await bites('node added', () => write(file, node('comes', { manualModels: ['a'] })), 'a', 200);
  const more = node('comes', { manualModels: ['a', 'b'] });
  await bites('manual model added', () => write(file, more), 'b', 200);
  const fewer = node('comes', { manualModels: ['b'] });
  await bites('manual model removed', () => write(file, fewer), 'a', 404, 'model_not_found');
  const alias = node('comes', { manualModels: ['b'], models: [{ name: 'b', aliases: ['bee'] }] });
  await bites('alias added', () => write(file, alias), 'bee', 200);
  expect(JSON.parse(one.requestsTo('/chat/completions').at(-1)?.body.toString() ?? '').model).toBe('b');
  await bites('alias removed', () => write(file, fewer), 'bee', 404, 'model_not_found');
  const off = node('comes', { manualModels: ['b'], models: [{ name: 'b', enabled: false }] });
  await bites('model disabled', () => write(file, off), 'b', 403, 'model_disabled');
  await bites('model enabled', () => write(file, fewer), 'b', 200);
  const disabled = node('comes', { manualModels: ['b'], enabled: false });
  await bites('node disabled', () => write(file, disabled), 'b', 403, 'model_disabled');
  await bites('node enabled', () => write(file, fewer), 'b', 200);
  await bites('node removed', () => standalone.folders.remove(file), 'b', 404, 'model_not_found');
});

test('a key is disabled, allowed less, expired and revoked within a second', async () => {
  await write('for-keys.yaml', node('for-keys', { manualModels: ['k1', 'k2'] }));
  const { text, hash } = keyWithHash();
  const own = standalone.caller(text);
  const declare = (spec: Record<string, unknown>) => () =>
    write('second-key.yaml', manifest('APIKey', 'second', { hash, ...spec }));
  const past = new Date(Date.now() - 60_000).toISOString();
  for (const [what, change, model, status] of [
    ['key added', declare({}), 'k1', 200],
    ['allowlist set', declare({ models: ['k2'] }), 'k1', 403],
    ['allowlist widened', declare({ models: ['k1', 'k2'] }), 'k1', 200],
    ['key disabled', declare({ enabled: false }), 'k1', 401],
    ['key enabled', declare({}), 'k1', 200],
    ['key expired', declare({ expirationTime: past }), 'k1', 401],
    ['key prolonged', declare({}), 'k1', 200],
    ['key removed', () => standalone.folders.remove('second-key.yaml'), 'k1', 401],
  ] as const) {
    const ms = await timeUntil(what, change, async () => (await own.chat(model)).status === status);
    measured(what, ms, 1000);
  }
  await standalone.folders.remove('for-keys.yaml');
});

test('an object that moves to another file or is renamed stays in force or follows its name', async () => {
  await write('old-place.yaml', node('moving', { manualModels: ['mv'] }));
  await eventually('served', answers('mv', 200), 5000, 10);
  const path = (file: string) => `${standalone.folders.manifests}/${file}`;
  await rename(path('old-place.yaml'), path('new-place.yaml'));
  for (const until = Date.now() + 700; Date.now() < until; ) {
    expect((await caller.chat('mv')).status).toBe(200);
  }
  await bites(
    'node renamed',
    () => write('new-place.yaml', node('renamed', { manualModels: ['mv2'] })),
    'mv2',
    200,
  );
  expect((await caller.chat('mv')).status).toBe(404);
  expect((await caller.chat('mv2')).headers.get('x-model-gateway-node')).toBe('default/renamed');
  await standalone.folders.remove('new-place.yaml');
});

test('a node that moves to another server lets its streams end where they are', async () => {
  (one.answers as { chunks: number }).chunks = 15;
  (one.answers as { chunkDelayMilliseconds: number }).chunkDelayMilliseconds = 100;
  await write('moves.yaml', node('moves', { manualModels: ['s'] }));
  await eventually('listed', async () => (await caller.models()).includes('s'), 5000, 10);
  const before = one.requestsTo('/chat/completions').length;
  const streams = Array.from({ length: 5 }, () => caller.chat('s', { stream: true }));
  await one.waitFor(() => one.requestsTo('/chat/completions').length === before + 5);
  const ms = await timeUntil(
    'node moved',
    () => write('moves.yaml', node('moves', { baseURL: two.url, manualModels: ['s'] })),
    async () => {
      expect((await caller.chat('s')).status).toBe(200);
      return two.requestsTo('/chat/completions').length > 0;
    },
  );
  measured('node moved to another server', ms, 1000);
  const atOne = one.requestsTo('/chat/completions').length;
  expect((await caller.chat('s')).status).toBe(200);
  expect(one.requestsTo('/chat/completions')).toHaveLength(atOne);
  for (const { status, text } of await Promise.all(streams)) {
    expect(status).toBe(200);
    expect(text).toContain('w14 ');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  }
  await eventually('the old connections are closed', () => one.connectionCount() === 0, 5000);
  await standalone.folders.remove('moves.yaml');
});

test('a stream that was admitted ends in full though its node and its key go', async () => {
  const { text, hash } = keyWithHash();
  (two.answers as { chunks: number }).chunks = 12;
  (two.answers as { chunkDelayMilliseconds: number }).chunkDelayMilliseconds = 100;
  await write('goes.yaml', node('goes', { baseURL: two.url, manualModels: ['g'] }));
  await write('goes-key.yaml', manifest('APIKey', 'goes', { hash }));
  const own = standalone.caller(text);
  await eventually('listed', async () => (await own.send('GET', '/models/g')).status === 200, 5000, 10);
  const before = two.requestsTo('/chat/completions').length;
  const stream = own.chat('g', { stream: true });
  await two.waitFor(() => two.requestsTo('/chat/completions').length === before + 1);
  await standalone.folders.remove('goes.yaml');
  await standalone.folders.remove('goes-key.yaml');
  await eventually('revoked', async () => (await own.chat('g')).status === 401, 5000, 10);
  expect((await stream).text.endsWith('data: [DONE]\n\n')).toBe(true);
});

test('status, uid and creation time survive a change and a restart', async () => {
  await write('kept.yaml', node('kept', { manualModels: ['kept'] }));
  const described = async (by: Caller) => JSON.parse((await by.send('GET', '/models/kept')).text);
  await eventually('listed', async () => (await caller.models()).includes('kept'), 5000, 10);
  const first = await described(caller);
  await delay(1100);
  await write('kept.yaml', node('kept', { manualModels: ['kept'], weight: 7 }));
  await delay(400);
  expect(await described(caller)).toEqual(first);
  expect(await standalone.stop()).toBe(0);
  await using again = await startStandalone({ folders: standalone.folders });
  expect(await described(again.caller(key.text))).toEqual(first);
});
