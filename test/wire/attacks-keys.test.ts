import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authenticate } from '../../src/gateway/admission/authenticate.ts';
import { hashKeyText } from '../../src/resources/key-text.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';

// Requests must not reveal which keys and models exist, neither by the text of answers nor by their time.
let gateway: GatewayUnderTest;
let key: string;
let others: string;
let master: string;
let foreignMaster: string;

beforeAll(async () => {
  gateway = await startGateway();
  await gateway.addNode('n');
  key = gateway.key;
  // Another team's: many nodes with many models, none of which this namespace may use.
  for (let node = 0; node < 20; node += 1) {
    const manualModels = node === 0 ? ['hidden', 'hidden-too'] : ['hidden'];
    gateway.setNode(
      `hidden-${node}`,
      { baseURL: 'http://127.0.0.1:9/v1', manualModels },
      { namespace: 'team' },
    );
  }
  others = gateway.addKey({ displayName: 'theirs' }, { namespace: 'team', metadata: { name: 'theirs' } });
  master = gateway.addKey({}, { kind: 'MasterKey' });
  foreignMaster = gateway.addKey({}, { kind: 'MasterKey', namespace: 'team' });
});
afterAll(() => gateway.close());

const ask = (text: string, method: string, path: string, body?: object) =>
  fetch(`${gateway.baseURL}${path}`, {
    method,
    headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** The middle of the times that each of several things takes, done in turns, in milliseconds. */
async function medians(rounds: number, works: readonly (() => unknown)[]): Promise<number[]> {
  const times = works.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, work] of works.entries()) {
      const began = performance.now();
      await work();
      times[index]?.push(performance.now() - began);
    }
  }
  return times.map((each) => each.sort((a, b) => a - b)[Math.floor(each.length / 2)] ?? 0);
}

/**
 * How many times longer the slowest of several things takes than the fastest, by medians; the least of some tries, for
 * what else the machine does can part two equal things once, but not every time.
 */
async function spread(rounds: number, works: readonly (() => unknown)[], enough: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries === 0 || (tries < 12 && least > enough); tries += 1) {
    const times = await medians(rounds, works);
    least = Math.min(least, Math.max(...times) / Math.min(...times));
  }
  return least;
}

describe('keys', () => {
  const flipped = (text: string, at: number): string =>
    text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);

  test('a nearly correct key takes no longer than a completely wrong one', async () => {
    // Keys issued elsewhere: they have no check characters, so every one of these is hashed and looked up.
    const right = 'k'.repeat(20) + 'Zx9'.repeat(10);
    gateway.content.set({
      ...(gateway.content.get('APIKey', 'default', 'key-1') ?? expect.unreachable('no key')),
      metadata: {
        namespace: 'default',
        name: 'elsewhere',
        uid: 'elsewhere',
        creationTimestamp: undefined,
        deletionTimestamp: undefined,
      },
      spec: { enabled: true, priority: 'Normal', conversion: 'Lossy', hash: hashKeyText(right) },
    });
    const wrong = [flipped(right, 49), flipped(right, 25), flipped(right, 0), 'y'.repeat(50)];
    const judge = (text: string) => () => {
      // Many at once: one takes a microsecond.
      for (let count = 0; count < 200; count += 1) {
        try {
          authenticate(gateway.content, { authorization: `Bearer ${text}` }, 'APIKey', 0);
        } catch {
          continue;
        }
        throw new Error('it opened');
      }
    };
    expect(authenticate(gateway.content, { authorization: `Bearer ${right}` }, 'APIKey', 0)).toBeDefined();
    const ratio = await spread(60, wrong.map(judge), 2);
    expect(ratio).toBeLessThan(2);
    // And what a comparison character by character would show, seen by the same means.
    const naive = (text: string) => () => {
      let same = 0;
      for (let count = 0; count < 20_000; count += 1) {
        for (let at = 0; at < right.length && right[at] === text[at]; at += 1) same += 1;
      }
      return same;
    };
    expect(
      await spread(30, [naive(wrong[0] ?? ''), naive(wrong[3] ?? '')], Number.POSITIVE_INFINITY),
    ).toBeGreaterThan(2);
  });

  test('every wrong key gets the same answer, even if it is nearly correct', async () => {
    const told = new Set<string>();
    for (const at of [4, 10, 30, 45]) {
      const answer = await ask(flipped(key, at), 'GET', '/models');
      expect(answer.status).toBe(401);
      told.add(((await answer.json()) as { error: { message: string } }).error.message);
    }
    expect(told.size).toBe(1);
    expect([...told][0]).not.toMatch(/namespace|default|key-1/);
    const hash = hashKeyText(key);
    for (const text of [
      hash,
      hash.slice(7),
      `${key} `.repeat(2).trim(),
      key.toLowerCase(),
      key.slice(0, -1),
    ]) {
      expect((await ask(text, 'GET', '/models')).status, text.slice(0, 8)).toBe(401);
    }
    for (const [name, value] of [
      ['authorization', `Bearer${key}`],
      ['authorization', `Basic ${Buffer.from(`x:${key}`).toString('base64')}`],
      ['cookie', `api_key=${key}`],
      ['api-key', key],
      ['x-goog-api-key', key],
    ] as const) {
      expect((await fetch(`${gateway.baseURL}/models`, { headers: { [name]: value } })).status, name).toBe(
        401,
      );
    }
    expect((await fetch(`${gateway.baseURL}/models?key=${key}&api_key=${key}`)).status).toBe(401);
  });
});

describe('models of another namespace', () => {
  const call = (model: string) => ask(key, 'POST', '/chat/completions', { model, messages: [] });

  test('cannot be distinguished from models that do not exist: by status, text, headers, lists', async () => {
    const shown = async (path: string, model: string, init?: object) => {
      const answer = init === undefined ? await ask(key, 'GET', `${path}/${model}`) : await call(model);
      const headers = [...answer.headers].filter(
        ([name]) => !/^(?:date|x-request-id|request-id)$/.test(name),
      );
      return JSON.stringify([answer.status, headers, (await answer.text()).replaceAll(model, 'M')]);
    };
    for (const hidden of ['hidden', 'hidden-too']) {
      const nobody = 'n'.repeat(hidden.length);
      expect(await shown('/models', hidden)).toBe(await shown('/models', nobody));
      expect(await shown('', hidden, {})).toBe(await shown('', nobody, {}));
    }
    const listed = await (await ask(key, 'GET', '/models')).text();
    const cursors = await (await ask(key, 'GET', '/models?after_id=g&limit=5')).text();
    expect(listed + cursors).not.toContain('hidden');
    expect(await (await ask(others, 'GET', '/models')).text()).toContain('hidden');
    const limited = gateway.addKey({ models: ['m'] });
    const refusals = await Promise.all(
      ['hidden', 'nobody'].map(async (model) => {
        const answer = await ask(limited, 'POST', '/chat/completions', { model });
        return `${answer.status} ${(await answer.text()).replaceAll(model, 'M')}`;
      }),
    );
    expect(refusals[0]).toMatch(/^403 /);
    expect(refusals[0]).toBe(refusals[1]);
  });

  test('and not by the time that a 404 or a 403 takes', async () => {
    const limited = gateway.addKey({ models: ['m'] });
    const enough = 2;
    const refusal = (text: string, model: string) => async () => {
      await (await ask(text, 'POST', '/chat/completions', { model, messages: [] })).arrayBuffer();
    };
    const description = (text: string, model: string) => async () => {
      await (await ask(text, 'GET', `/models/${model}`)).arrayBuffer();
    };
    for (const work of [refusal, description]) {
      for (const text of [key, limited]) {
        const ratio = await spread(80, [work(text, 'hidden'), work(text, 'nobody')], enough);
        expect(ratio).toBeLessThan(enough);
      }
    }
  });
});

describe('keys of another namespace', () => {
  test('cannot be distinguished from keys that do not exist, by any spelling of their id', async () => {
    const told = async (method: string, path: string) => {
      const answer = await ask(master, method, path);
      return `${answer.status} ${await answer.text()}`;
    };
    const nobody = await told('GET', '/keys/nobody');
    expect(nobody).toMatch(/^404 /);
    const ids = [
      'theirs',
      'team%2Ftheirs',
      '..%2Fteam%2Ftheirs',
      '..%2F..%2Fnamespaces%2Fteam%2Fapikeys%2Ftheirs',
      'theirs%00',
      'theirs%3FdryRun=All',
      'THEIRS',
      '__proto__',
      'constructor',
      '*',
      `${'a'.repeat(3_000)}`,
    ];
    for (const id of ids) {
      expect(await told('GET', `/keys/${id}`), id).toBe(nobody);
      expect(await told('DELETE', `/keys/${id}`), id).toBe(nobody);
      expect(await told('GET', `/keys?after=${id}`), id).toBe(nobody);
    }
    // It is still there, for those whose it is.
    expect((await ask(others, 'GET', '/models')).status).toBe(200);
    expect((await ask(foreignMaster, 'GET', '/keys/theirs')).status).toBe(200);
    const list = (await (await ask(master, 'GET', '/keys?limit=100')).json()) as { data: { name: string }[] };
    expect(list.data.length).toBeGreaterThan(0);
    expect(JSON.stringify(list)).not.toContain('theirs');
  });

  test('a master key makes no key in another namespace, and none with further access', async () => {
    for (const more of [
      { namespace: 'team' },
      { nodeNamespaces: ['team'] },
      { hash: hashKeyText('x'.repeat(24)) },
      { metadata: { namespace: 'team' } },
      { kind: 'MasterKey' },
      { id: 'theirs' },
    ]) {
      expect((await ask(master, 'POST', '/keys', { name: 'a', ...more })).status).toBe(400);
    }
    const made = (await (await ask(master, 'POST', '/keys', {})).json()) as { id: string; value: string };
    expect(made.id).toMatch(/^key-[0-9a-f]{20}$/);
    expect((await ask(made.value, 'GET', '/models/hidden')).status).toBe(404);
    expect((await ask(made.value, 'GET', '/keys')).status).toBe(403);
    const again = (await (await ask(master, 'POST', '/keys', {})).json()) as { id: string; value: string };
    expect([again.id === made.id, again.value === made.value]).toEqual([false, false]);
  });
});
