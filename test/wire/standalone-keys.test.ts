import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../support/caller.ts';
import { eventually } from '../support/eventually.ts';
import { measured, timeUntil } from '../support/measured.ts';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

interface KeyAnswer {
  id: string;
  name: string;
  value: string;
  redacted_value: string;
  models: string[] | null;
  created_at: number;
  expires_at: number | null;
}

interface Page {
  data: KeyAnswer[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

const master = keyWithHash('master');
const otherMaster = keyWithHash('master');
const api = keyWithHash();
let upstream: ScriptedUpstream;
let process: Standalone;
let admin: Caller;

const node = () => manifest('UpstreamNode', 'n', { baseURL: upstream.url, manualModels: ['m', 'other'] });
const keys = manifests(
  manifest('MasterKey', 'portal', { hash: master.hash }),
  manifest('MasterKey', 'portal', { hash: otherMaster.hash }, { namespace: 'team' }),
  manifest('APIKey', 'declared', { hash: api.hash }),
);

beforeAll(async () => {
  upstream = await startUpstream({ models: ['m', 'other'] });
  process = await startStandalone({ manifests: { 'node.yaml': node(), 'keys.yaml': keys } });
  admin = process.caller(master.text);
});
afterAll(async () => {
  await process[Symbol.asyncDispose]();
  await upstream.stop();
});

const created = async (body: unknown, caller = admin): Promise<KeyAnswer> => {
  const { status, text } = await caller.send('POST', '/keys', body);
  expect(status, text).toBe(201);
  return JSON.parse(text) as KeyAnswer;
};

describe('POST /v1/keys', () => {
  test('answers the whole key, which opens the gateway at once', async () => {
    const expires = Math.floor(Date.now() / 1000) + 3600;
    const key = await created({ name: 'Build server', models: ['m'], expires_at: expires });
    expect(key).toEqual({
      object: 'api_key',
      id: expect.stringMatching(/^key-[0-9a-f]{20}$/),
      name: 'Build server',
      value: expect.stringMatching(/^mgk_[0-9A-Za-z]{49}$/),
      redacted_value: `mgk_...${key.value.slice(-4)}`,
      enabled: true,
      models: ['m'],
      created_at: expect.closeTo(Date.now() / 1000, -1),
      expires_at: expires,
    });
    const caller = process.caller(key.value);
    expect((await caller.chat('m')).status).toBe(200);
    expect(await caller.chat('other')).toMatchObject({ status: 403, code: 'model_not_allowed' });
  });

  test('answers a key without a wish, and shows its text nowhere else', async () => {
    const key = await created({});
    expect(key).toMatchObject({ name: key.id, models: null, expires_at: null });
    const { value, ...rest } = key;
    const got = await admin.send('GET', `/keys/${key.id}`);
    expect(JSON.parse(got.text)).toEqual(rest);
    const listed = await admin.send('GET', '/keys?limit=100');
    expect(listed.text).toContain(key.id);
    expect(got.text + listed.text + process.output()).not.toContain(value);
  });

  test('takes null members as no wish', async () => {
    const key = await created({ name: null, models: null, expires_at: null });
    expect(key).toMatchObject({ models: null, expires_at: null });
  });

  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  test.each<[string, unknown, string | null, RegExp]>([
    ['a name that is a number', { name: 7 }, 'name', /name must be a string, not a number; put it in quotes/],
    ['an empty name', { name: '' }, 'name', /must not be empty/],
    ['a long name', { name: 'x'.repeat(254) }, 'name', /at most 253 characters/],
    ['a name of two lines', { name: 'a\nb' }, 'name', /one line/],
    ['models that are no list', { models: 'm' }, 'models', /models must be a list, not a string/],
    ['no models at all', { models: [] }, 'models', /must not be empty; .*leave the field out/],
    ['a model that is a number', { models: ['m', 3] }, 'models[1]', /must be a string/],
    ['a star', { models: ['*'] }, 'models[0]', /must not be "\*"/],
    ['a model twice', { models: ['m', 'm'] }, 'models[1]', /twice; remove one/],
    ['too many models', { models: Array.from({ length: 1001 }, String) }, 'models', /at most 1000 entries/],
    ['a model with a blank end', { models: ['m '] }, 'models[0]', /must not begin or end with a blank/],
    ['a time as text', { expires_at: '2030-01-01' }, 'expires_at', /must be a number, not a string/],
    ['a time with a fraction', { expires_at: inAnHour + 0.5 }, 'expires_at', /must be a whole number/],
    ['a time in milliseconds', { expires_at: inAnHour * 1000 }, 'expires_at', /not milliseconds/],
    ['a time that is past', { expires_at: inAnHour - 7200 }, 'expires_at', /must be in the future/],
    ['a negative time', { expires_at: -1 }, 'expires_at', /must be in the future/],
    ['an unknown field', { scope: 'all' }, 'scope', /Unknown field 'scope'; use name, models, expires_at/],
    ['a list', [], null, /a JSON object is expected/],
    ['a text', 'key', null, /a JSON object is expected/],
    ['null', null, null, /a JSON object is expected/],
    ['no body', undefined, null, /it is empty/],
  ])('refuses %s', async (_, body, param, message) => {
    const { status, text } = await admin.send('POST', '/keys', body);
    expect(status, text).toBe(400);
    const { error } = JSON.parse(text);
    expect(error).toMatchObject({ type: 'invalid_request_error', param });
    expect(error.message).toMatch(message);
  });

  test.each([
    ['{"models":["m"],"models":null}', 'models'],
    ['{"models":["m"],"mod\\u0065ls":null}', 'models'],
    ['{"name":"a","name":"a"}', 'name'],
  ])('refuses a member that is there twice: %s', async (body, param) => {
    const headers = { authorization: `Bearer ${master.text}`, 'content-type': 'application/json' };
    const answer = await fetch(`${process.baseURL}/keys`, { method: 'POST', headers, body });
    expect(answer.status).toBe(400);
    const message = `The body has '${param}' twice; remove one.`;
    expect(await answer.json()).toMatchObject({ error: { param, message } });
  });

  test('refuses what is not JSON, and another type of content', async () => {
    const send = (body: string, type: string) =>
      fetch(`${process.baseURL}/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${master.text}`, 'content-type': type },
        body,
      });
    const broken = await send('{"name": ', 'application/json');
    expect(broken.status).toBe(400);
    expect(await broken.json()).toMatchObject({ error: { code: 'invalid_json' } });
    expect((await send('name=x', 'application/x-www-form-urlencoded')).status).toBe(415);
  });

  test('a key that expires is refused from that second on', async () => {
    const key = await created({ expires_at: Math.floor(Date.now() / 1000) + 2 });
    const caller = process.caller(key.value);
    expect((await caller.chat('m')).status).toBe(200);
    await eventually('expired', async () => (await caller.chat('m')).status === 401, 5000);
    expect((await caller.chat('m')).text).toContain('has expired');
    expect(Date.now()).toBeGreaterThanOrEqual((key.expires_at ?? 0) * 1000);
  });
});

describe('GET and DELETE', () => {
  test('the list is paged, oldest first, and holds every key once', async () => {
    const before = await startStandalone({ manifests: { 'keys.yaml': keys } });
    const caller = before.caller(master.text);
    const ids: string[] = ['declared'];
    for (let count = 0; count < 5; count += 1) {
      if (count === 3) await delay(1100);
      ids.push((await created({ name: `k${count}` }, caller)).id);
    }
    const page = async (query: string) =>
      JSON.parse((await caller.send('GET', `/keys${query}`)).text) as Page;
    const seen: KeyAnswer[] = [];
    let after = '';
    for (const size of [2, 2, 2]) {
      const found = await page(`?limit=2${after}`);
      expect(found.data).toHaveLength(size);
      expect(found).toMatchObject({
        object: 'list',
        first_id: found.data[0]?.id,
        last_id: found.data.at(-1)?.id,
      });
      seen.push(...found.data);
      expect(found.has_more).toBe(seen.length < 6);
      after = `&after=${found.last_id}`;
    }
    expect(seen.map(({ id }) => id).sort()).toEqual([...ids].sort());
    const times = seen.map(({ created_at }) => created_at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(
      seen
        .slice(-2)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['k3', 'k4']);
    expect((await page('')).data.map(({ id }) => id)).toEqual(seen.map(({ id }) => id));
    const end = await page(`?after=${seen.at(-1)?.id}`);
    expect(end).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false });
    await before[Symbol.asyncDispose]();
  });

  test.each([
    ['?limit=0', 400, 'limit'],
    ['?limit=101', 400, 'limit'],
    ['?limit=two', 400, 'limit'],
    ['?limit=1&limit=2', 400, 'limit'],
    ['?after=a&after=b', 400, 'after'],
    ['?after=key-unknown', 404, 'id'],
  ])('refuses the list of %s', async (query, status, param) => {
    const answer = await admin.send('GET', `/keys${query}`);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { param } });
  });

  test('a deleted key opens nothing from then on', async () => {
    const key = await created({});
    const caller = process.caller(key.value);
    expect((await caller.chat('m')).status).toBe(200);
    const deleted = await admin.send('DELETE', `/keys/${key.id}`);
    expect(deleted.status).toBe(200);
    expect(JSON.parse(deleted.text)).toEqual({ object: 'api_key.deleted', id: key.id, deleted: true });
    expect(await caller.chat('m')).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(await admin.send('DELETE', `/keys/${key.id}`)).toMatchObject({
      status: 404,
      code: 'key_not_found',
    });
    expect((await admin.send('GET', `/keys/${key.id}`)).status).toBe(404);
  });

  test('a key that a manifest declares can be seen but not deleted', async () => {
    expect((await admin.send('GET', '/keys/declared')).status).toBe(200);
    const { status, text } = await admin.send('DELETE', '/keys/declared');
    expect(status).toBe(409);
    expect(JSON.parse(text).error).toMatchObject({ type: 'conflict_error', code: 'conflict' });
    expect(text).toContain('keys.yaml');
    expect((await process.caller(api.text).chat('m')).status).toBe(200);
  });
});

describe('who may', () => {
  const paths: [string, string][] = [
    ['POST', '/keys'],
    ['GET', '/keys'],
    ['GET', '/keys/declared'],
    ['DELETE', '/keys/declared'],
  ];

  test.each(paths)('an API key may not %s %s', async (method, path) => {
    const answer = await process.caller(api.text).send(method, path);
    expect(answer).toMatchObject({ status: 403, code: 'wrong_key_kind' });
  });

  test.each(paths)('nobody may %s %s without a key', async (method, path) => {
    expect(await process.caller('').send(method, path)).toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
    const mistyped = `${master.text.slice(0, -1)}${master.text.endsWith('0') ? '1' : '0'}`;
    expect((await process.caller(mistyped).send(method, path)).text).toContain('mistyped');
  });

  test('a master key opens nothing else', async () => {
    for (const [method, path] of [
      ['GET', '/models'],
      ['GET', '/models/m'],
      ['POST', '/chat/completions'],
      ['POST', '/embeddings'],
      ['POST', '/responses'],
    ] as const) {
      const body = method === 'POST' ? { model: 'm' } : undefined;
      const answer = await admin.send(method, path, body);
      expect(answer, path).toMatchObject({ status: 403, code: 'wrong_key_kind' });
    }
    const messages = await admin.send('POST', '/messages', { model: 'm' });
    expect(messages.status).toBe(403);
    expect(JSON.parse(messages.text)).toMatchObject({ type: 'error', error: { type: 'permission_error' } });
  });

  test('a master key reaches its own namespace alone', async () => {
    const other = process.caller(otherMaster.text);
    const mine = await created({ name: 'mine' });
    const theirs = await created({ name: 'theirs' }, other);
    for (const [caller, own, foreign] of [
      [admin, mine, theirs],
      [other, theirs, mine],
    ] as const) {
      expect((await caller.send('GET', `/keys/${own.id}`)).status).toBe(200);
      expect((await caller.send('GET', `/keys/${foreign.id}`)).status).toBe(404);
      expect((await caller.send('DELETE', `/keys/${foreign.id}`)).status).toBe(404);
      expect((await caller.send('GET', `/keys?after=${foreign.id}`)).status).toBe(404);
      expect((await caller.send('GET', '/keys?limit=100')).text).not.toContain(foreign.id);
    }
    expect((await process.caller(mine.value).chat('m')).status).toBe(200);
  });
});

test('a revoked key is refused within a second, timed', async () => {
  const extra = keyWithHash();
  await process.folders.write('extra.yaml', manifest('APIKey', 'extra', { hash: extra.hash }));
  const caller = process.caller(extra.text);
  await eventually('the key opens', async () => (await caller.chat('m')).status === 200, 5000, 10);
  const ms = await timeUntil(
    'the key is refused',
    () => process.folders.remove('extra.yaml'),
    async () => (await caller.chat('m')).status === 401,
  );
  measured('key revoked by deleting its manifest', ms, 1000);
});
