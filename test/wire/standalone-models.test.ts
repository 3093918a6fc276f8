import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

const all = keyWithHash();
const few = keyWithHash();
const stranger = keyWithHash();
let upstream: ScriptedUpstream;
let standalone: Standalone;

const listed = ['a/b/c', 'alpha', 'beta', 'first', 'org/model:7b', 'zeta'];

beforeAll(async () => {
  upstream = await startUpstream();
  const spec = { baseURL: upstream.url, sync: { discovery: 'Never' } };
  standalone = await startStandalone({
    manifests: {
      'nodes.yaml': manifests(
        manifest('UpstreamNode', 'n', {
          ...spec,
          manualModels: ['alpha', 'beta', 'org/model:7b', 'a/b/c', 'off'],
          models: [
            { name: 'alpha', aliases: ['first'] },
            { name: 'off', enabled: false, aliases: ['off-alias'] },
          ],
        }),
        manifest('UpstreamNode', 'second', { ...spec, manualModels: ['zeta', 'alpha'] }),
        manifest('UpstreamNode', 'disabled', { ...spec, enabled: false, manualModels: ['sleeping'] }),
        manifest('UpstreamNode', 'theirs', { ...spec, manualModels: ['hidden'] }, { namespace: 'team' }),
      ),
      'keys.yaml': manifests(
        manifest('APIKey', 'all', { hash: all.hash }),
        manifest('APIKey', 'few', {
          hash: few.hash,
          models: ['first', 'zeta', 'off', 'sleeping', 'nowhere'],
        }),
        manifest('APIKey', 'stranger', { hash: stranger.hash }, { namespace: 'elsewhere' }),
      ),
    },
  });
});
afterAll(async () => {
  await standalone[Symbol.asyncDispose]();
  await upstream.stop();
});

const page = async (query: string, key = all.text) => {
  const { status, text } = await standalone.caller(key).send('GET', `/models${query}`);
  return { status, ...(JSON.parse(text) as { data: { id: string }[]; [field: string]: unknown }) };
};
const ids = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);

describe('GET /v1/models', () => {
  test('both SDK families read it', async () => {
    const openai = new OpenAI({ apiKey: all.text, baseURL: standalone.baseURL, maxRetries: 0 });
    const fromOpenAI: string[] = [];
    for await (const model of openai.models.list()) {
      expect(model).toMatchObject({ object: 'model', owned_by: 'model-gateway' });
      expect(model.created).toBeGreaterThan(1_600_000_000);
      fromOpenAI.push(model.id);
    }
    expect(fromOpenAI).toEqual(listed);
    const anthropic = new Anthropic({
      apiKey: all.text,
      baseURL: standalone.baseURL.replace(/\/v1$/, ''),
      maxRetries: 0,
    });
    const fromAnthropic: string[] = [];
    for await (const model of anthropic.models.list({ limit: 4 })) {
      expect(model).toMatchObject({ type: 'model', display_name: model.id });
      expect(Date.parse(model.created_at)).toBeGreaterThan(1_600_000_000_000);
      fromAnthropic.push(model.id);
    }
    expect(fromAnthropic).toEqual(listed);
    expect(await openai.models.retrieve('org/model:7b')).toMatchObject({ id: 'org/model:7b' });
    expect(await anthropic.models.retrieve('a/b/c')).toMatchObject({ id: 'a/b/c' });
  });

  test('is cut to the allowlist, to what is enabled and to what the namespace may see', async () => {
    expect(ids(await page(''))).toEqual(listed);
    expect(ids(await page('', few.text))).toEqual(['first', 'zeta']);
    expect(await page('', stranger.text)).toEqual({
      status: 200,
      object: 'list',
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    });
  });

  test.each<[string, string[], boolean]>([
    ['?limit=2', ['a/b/c', 'alpha'], true],
    ['?limit=2&after_id=alpha', ['beta', 'first'], true],
    ['?limit=2&after_id=first', ['org/model:7b', 'zeta'], false],
    ['?after_id=zeta', [], false],
    ['?limit=2&before_id=first', ['alpha', 'beta'], true],
    ['?limit=1000', listed, false],
    ['?after_id=org%2Fmodel%3A7b', ['zeta'], false],
  ])('pages %s', async (query, expected, more) => {
    const found = await page(query);
    expect(ids(found)).toEqual(expected);
    expect(found).toMatchObject({
      has_more: more,
      first_id: expected[0] ?? null,
      last_id: expected.at(-1) ?? null,
    });
  });

  test.each(['?limit=0', '?limit=x', '?limit=10001', '?limit=', '?limit=1e2', '?after_id=a&after_id=b'])(
    'refuses %s',
    async (query) => {
      const { status, text } = await standalone.caller(all.text).send('GET', `/models${query}`);
      expect(status).toBe(400);
      expect(JSON.parse(text).error.type).toBe('invalid_request_error');
    },
  );
});

describe('GET /v1/models/{id}', () => {
  test.each<[string, string, number, string | undefined]>([
    ['a name', 'alpha', 200, undefined],
    ['an alias', 'first', 200, undefined],
    ['a name with a slash', 'org/model:7b', 200, undefined],
    ['a name with an encoded slash', 'org%2Fmodel%3A7b', 200, undefined],
    ['a name of three parts', 'a/b/c', 200, undefined],
    ['another case', 'Alpha', 404, 'model_not_found'],
    ['an unknown model', 'nowhere', 404, 'model_not_found'],
    ['a disabled model', 'off', 403, 'model_disabled'],
    ['an alias of a disabled model', 'off-alias', 403, 'model_disabled'],
    ['a model of a disabled node', 'sleeping', 403, 'model_disabled'],
    ["another namespace's model", 'hidden', 404, 'model_not_found'],
  ])('tells %s', async (_, id, status, code) => {
    const answer = await standalone.caller(all.text).send('GET', `/models/${id}`);
    expect(answer).toMatchObject({ status, code });
    if (status === 200) expect(JSON.parse(answer.text).id).toBe(decodeURIComponent(id));
  });

  test.each<[string, number, string | undefined]>([
    ['zeta', 200, undefined],
    ['alpha', 403, 'model_not_allowed'],
    ['unheard-of', 403, 'model_not_allowed'],
    ['off', 403, 'model_disabled'],
    ['nowhere', 404, 'model_not_found'],
  ])('with an allowlist tells %s', async (id, status, code) => {
    expect(await standalone.caller(few.text).send('GET', `/models/${id}`)).toMatchObject({ status, code });
  });

  test('and a chat agree on what may be used', async () => {
    for (const id of [...listed, 'off', 'off-alias', 'sleeping', 'hidden', 'nowhere']) {
      for (const { text } of [all, few, stranger]) {
        const caller = standalone.caller(text);
        const described = await caller.send('GET', `/models/${id}`);
        const { status, code } = await caller.chat(id);
        expect({ id, status, code }).toEqual({ id, status: described.status, code: described.code });
      }
    }
  });
});

test('HEAD / answers without a key, and asks nobody', async () => {
  const answer = await fetch(standalone.baseURL.replace(/\/v1$/, '/'), { method: 'HEAD' });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toBe('');
});
