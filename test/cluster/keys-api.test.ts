import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { Caller } from '../support/caller.ts';
import { eventually } from '../support/eventually.ts';
import { aSecondMs, measured, timeUntil } from '../support/measured.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
/** The same master key at either gateway. */
let masterA: Caller;
let masterB: Caller;
let masterText: string;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['keys-api', 'keys-other'], roles: ['gateway', 'gateway'] });
  await stage.addNode('node', { spec: { manualModels: ['m', 'n'] } });
  masterText = await stage.resources.addKey(stage.home, 'master', {}, 'MasterKey');
  [masterA, masterB] = [stage.caller(masterText, 0), stage.caller(masterText, 1)];
  for (const master of [masterA, masterB]) {
    await eventually('the master key opens', async () => (await master.send('GET', '/keys')).status === 200);
  }
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const keySchema = z.strictObject({
  object: z.literal('api_key'),
  id: z.string(),
  name: z.string(),
  value: z.string().optional(),
  redacted_value: z.string().nullable(),
  enabled: z.boolean(),
  models: z.array(z.string()).nullable(),
  created_at: z.int(),
  expires_at: z.int().nullable(),
});
const listSchema = z.strictObject({
  object: z.literal('list'),
  data: z.array(keySchema),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

async function createKey(master: Caller, body: object = {}) {
  const { status, text } = await master.send('POST', '/keys', body);
  expect(status, text).toBe(201);
  const key = keySchema.parse(JSON.parse(text));
  return { ...key, value: key.value ?? '' };
}

test('the gateway that made a key accepts it at once, and the other within a second; deletion takes effect in the same way', async () => {
  for (const [made, other] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const [here, there] = made === 0 ? [masterA, masterB] : [masterB, masterA];
    const key = await createKey(here, { name: `made at ${made}` });
    expect((await stage.caller(key.value, made).chat('m')).status).toBe(200);
    const elsewhere = stage.caller(key.value, other);
    const opens = async () => (await elsewhere.chat('m')).status === 200;
    measured(
      `key made at gateway ${made} → opens gateway ${other}`,
      await timeUntil('it opens', async () => {}, opens),
      aSecondMs,
    );
    const listed = listSchema.parse(JSON.parse((await there.send('GET', '/keys?limit=100')).text));
    expect(listed.data.map(({ id }) => id)).toContain(key.id);

    // Deleted at the other one, so that both directions are seen.
    const remove = async () => {
      const deleted = await there.send('DELETE', `/keys/${key.id}`);
      expect(JSON.parse(deleted.text)).toEqual({ object: 'api_key.deleted', id: key.id, deleted: true });
      expect((await elsewhere.chat('m')).status).toBe(401);
    };
    const refused = async () => (await stage.caller(key.value, made).chat('m')).status === 401;
    measured(
      `key deleted at gateway ${other} → refused by gateway ${made}`,
      await timeUntil('it is refused', remove, refused),
      aSecondMs,
    );
    expect((await there.send('DELETE', `/keys/${key.id}`)).status).toBe(404);
  }
});

test('the key text is answered once and kept nowhere', async () => {
  const expires = Math.floor(Date.now() / 1_000) + 3_600;
  const key = await createKey(masterA, { name: 'shown once', models: ['m'], expires_at: expires });
  expect(key).toMatchObject({ name: 'shown once', models: ['m'], expires_at: expires, enabled: true });
  expect(key.value).toMatch(/^mgk_[0-9A-Za-z]{49}$/);
  const again = await masterA.send('GET', `/keys/${key.id}`);
  const { value, ...rest } = key;
  expect(JSON.parse(again.text)).toEqual(rest);
  const stored = await stage.resources.get('APIKey', stage.home, key.id);
  expect(stored.spec).toMatchObject({ displayName: 'shown once', models: ['m'], hint: key.redacted_value });
  const { stdout } = await stage.cluster.kubectl(['get', 'apikeys,secrets,events', '-A', '-o', 'yaml']);
  expect(stdout).toContain(key.id);
  expect(stdout).not.toContain(value);
  for (const gateway of stage.gateways) expect(gateway.output()).not.toContain(value);
  const caller = stage.caller(value);
  expect((await caller.chat('m')).status).toBe(200);
  expect((await caller.chat('n')).code).toBe('model_not_allowed');
  expect(await caller.models()).toEqual(['m']);
});

test('a list is paged, oldest first, and complete', async () => {
  const before = listSchema.parse(JSON.parse((await masterB.send('GET', '/keys?limit=100')).text)).data;
  const made: string[] = [];
  for (let index = 0; index < 5; index += 1) made.push((await createKey(masterA)).id);
  await eventually('the other has the last', async () => {
    const { status } = await masterB.send('GET', `/keys/${made.at(-1)}`);
    return status === 200;
  });
  const expected = [...before.map(({ id }) => id), ...made].sort();
  const seen: string[] = [];
  const times: number[] = [];
  for (let after = ''; ; ) {
    const { status, text } = await masterB.send('GET', `/keys?limit=2${after && `&after=${after}`}`);
    expect(status).toBe(200);
    const page = listSchema.parse(JSON.parse(text));
    expect(page.first_id).toBe(page.data[0]?.id ?? null);
    expect(page.last_id).toBe(page.data.at(-1)?.id ?? null);
    seen.push(...page.data.map(({ id }) => id));
    times.push(...page.data.map(({ created_at }) => created_at));
    expect(seen.length).toBeLessThanOrEqual(expected.length);
    if (!page.has_more) break;
    after = page.last_id ?? '';
  }
  expect([...seen].sort()).toEqual(expected);
  expect(times).toEqual([...times].sort((a, b) => a - b));
});

test('a key of the wrong kind, of another namespace or none opens nothing', async () => {
  const api = await createKey(masterA);
  const caller = stage.caller(api.value);
  for (const [method, path] of [
    ['GET', '/keys'],
    ['POST', '/keys'],
    ['GET', `/keys/${api.id}`],
    ['DELETE', `/keys/${api.id}`],
  ] as const) {
    const refused = await caller.send(method, path, method === 'POST' ? {} : undefined);
    expect({ status: refused.status, code: refused.code }).toEqual({ status: 403, code: 'wrong_key_kind' });
  }
  expect((await masterA.chat('m')).code).toBe('wrong_key_kind');
  expect((await masterA.send('GET', '/models')).code).toBe('wrong_key_kind');

  const [, other = ''] = stage.namespaces;
  const stranger = stage.caller(await stage.resources.addKey(other, 'stranger', {}, 'MasterKey'));
  await eventually('it opens', async () => (await stranger.send('GET', '/keys')).status === 200);
  expect(JSON.parse((await stranger.send('GET', '/keys')).text)).toMatchObject({ data: [], has_more: false });
  expect((await stranger.send('GET', `/keys/${api.id}`)).status).toBe(404);
  expect((await stranger.send('DELETE', `/keys/${api.id}`)).status).toBe(404);
  expect((await caller.chat('m')).status).toBe(200);
  // Nor can a master key list or end itself through the API.
  expect((await masterA.send('GET', '/keys/master')).status).toBe(404);
});

test('a revoked master key is refused within a second, and the keys that it made stay valid', async () => {
  const text = await stage.resources.addKey(stage.home, 'short-lived', {}, 'MasterKey');
  const master = stage.caller(text);
  await eventually('it opens', async () => (await master.send('GET', '/keys')).status === 200);
  const { value } = await createKey(master);
  const remove = () => stage.resources.remove('MasterKey', stage.home, 'short-lived');
  const refused = async () => (await master.send('GET', '/keys')).status === 401;
  measured('MasterKey deleted → 401', await timeUntil('401', remove, refused), aSecondMs);
  expect((await stage.caller(value).chat('m')).status).toBe(200);
});
