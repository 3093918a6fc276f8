import { describe, expect, test } from 'vitest';
import { createCircuits } from '../../../src/gateway/attempt/circuits.ts';
import { apiKeySchema } from '../../../src/resources/api-key.ts';
import { upstreamNodeSchema } from '../../../src/resources/upstream-node.ts';
import type { CallerFormat } from '../../../src/routing/caller-format.ts';
import { createRouter, type NativeWish, type Tried } from '../../../src/routing/route.ts';
import { resolveCredentials } from '../../../src/store/credentials.ts';
import type { KeyEntry, NodeEntry, ServedModel, View } from '../../../src/store/store.ts';

const apiVersion = 'modelgateway.dev/v1alpha1';

interface NodeSketch {
  readonly spec?: object;
  readonly phase?: 'idle' | 'ready' | 'error' | 'offline';
  readonly checkedAtMs?: number;
  readonly enabled?: boolean;
  readonly refused?: boolean;
}

/** `nodes` by `namespace/name` or name (namespace `home`); every node serves the model `m`. */
function setUp(nodes: Record<string, NodeSketch>, seed = 1) {
  const clock = { ms: 10_000_000 };
  const candidates = Object.entries(nodes).map(([id, sketch]) => {
    const [namespace, name] = id.includes('/') ? id.split('/') : ['home', id];
    const resource = upstreamNodeSchema.parse({
      apiVersion,
      kind: 'UpstreamNode',
      metadata: { namespace, name },
      spec: { baseURL: 'http://n.example/v1', ...sketch.spec },
      ...(sketch.phase === undefined ? {} : { status: { phase: sketch.phase } }),
    });
    const node: NodeEntry = {
      id: `${namespace}/${name}`,
      resource,
      nativeFormats: new Set(resource.spec.nativeFormats ?? []),
      credentials:
        sketch.refused === true
          ? { state: 'Refused', reason: 'SecretNotFound', message: '' }
          : resolveCredentials(resource, () => undefined, undefined, undefined),
      checkedAtMs: sketch.checkedAtMs ?? clock.ms,
    };
    return { node, model: 'm', enabled: sketch.enabled ?? true };
  });
  const served: ServedModel = { name: 'm', candidates };
  const view = { served: (name: string) => (name === 'm' ? served : undefined) } as View;
  const circuits = createCircuits(() => clock.ms);
  const random = mulberry32(seed);
  const router = createRouter({
    view,
    circuits,
    loads: { underWay: () => 0, mean: () => 0, isFull: () => false },
    homeNamespace: 'home',
    random,
    now: () => clock.ms,
  });
  const next = (
    key = keyIn('home'),
    tried: string[] = [],
    format: CallerFormat = 'chat',
    model = 'm',
    wish?: NativeWish,
  ) => {
    const answer = router.next(model, key, format, triedNodes(tried), wish);
    if (answer === undefined || answer === 'ask') return answer;
    if ('full' in answer) return answer.full.map(({ id }) => `${id} is full`).join();
    return 'code' in answer ? answer.code : answer.candidate.node.id;
  };
  const order = (key?: KeyEntry): string[] => {
    const tried: string[] = [];
    for (let id = next(key, tried); id !== undefined; id = next(key, tried)) tried.push(id);
    return tried;
  };
  return { clock, circuits, router, next, order };
}

function triedNodes(ids: readonly string[]): Tried {
  return { has: ({ node }) => ids.includes(node.id) };
}

function keyIn(namespace: string, fields: { nodeNamespaces?: string[]; models?: string[] } = {}): KeyEntry {
  const resource = apiKeySchema.parse({
    apiVersion,
    kind: 'APIKey',
    metadata: { namespace, name: 'k' },
    spec: { secretName: 's', ...fields },
  });
  return {
    resource,
    expiresAtMs: Number.POSITIVE_INFINITY,
    models: fields.models === undefined ? undefined : new Set(fields.models),
  };
}

/** A small seeded generator, so that shares come out the same in every run. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test('priorities are strict: the higher one always first, the lower ones only afterwards', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const { order } = setUp(
      {
        low: { spec: { priority: 10, weight: 100 } },
        high: { spec: { priority: 90, weight: 1 } },
        middle: {},
      },
      seed,
    );
    expect(order()).toEqual(['home/high', 'home/middle', 'home/low']);
  }
});

test('within one priority shares follow the weights over 10,000 picks', () => {
  const { next } = setUp({
    a: { spec: { weight: 60 } },
    b: { spec: { weight: 30 } },
    c: { spec: { weight: 10 } },
  });
  const counts: Record<string, number> = {};
  for (let i = 0; i < 10_000; i++) {
    const id = next() ?? '';
    counts[id] = (counts[id] ?? 0) + 1;
  }
  // Four standard deviations of a binomial share: √(n·p·(1−p)) ≤ 50.
  expect(Math.abs((counts['home/a'] ?? 0) - 6000)).toBeLessThan(200);
  expect(Math.abs((counts['home/b'] ?? 0) - 3000)).toBeLessThan(200);
  expect(Math.abs((counts['home/c'] ?? 0) - 1000)).toBeLessThan(200);
});

test('shares among the eligible hold when most of a tier is not', () => {
  const nodes: Record<string, NodeSketch> = { a: { spec: { weight: 75 } }, b: { spec: { weight: 25 } } };
  for (let i = 0; i < 40; i++) nodes[`down${i}`] = { phase: 'offline', spec: { weight: 100 } };
  const { next } = setUp(nodes);
  let a = 0;
  for (let i = 0; i < 10_000; i++) if (next() === 'home/a') a += 1;
  expect(Math.abs(a - 7500)).toBeLessThan(200);
});

test('retries are without replacement: each node once, the second pick by weight among the rest', () => {
  const { next, order } = setUp({
    a: { spec: { weight: 98 } },
    b: { spec: { weight: 1 } },
    c: { spec: { weight: 1 } },
  });
  for (let i = 0; i < 100; i++) expect([...order()].sort()).toEqual(['home/a', 'home/b', 'home/c']);
  let b = 0;
  for (let i = 0; i < 10_000; i++) if (next(undefined, ['home/a']) === 'home/b') b += 1;
  expect(Math.abs(b - 5000)).toBeLessThan(200);
});

test('demoted nodes come last, in order of priority, and are never dropped', () => {
  const { order } = setUp({
    offline: { phase: 'offline', spec: { priority: 90 } },
    error: { phase: 'error', spec: { priority: 95 } },
    idle: { phase: 'idle', spec: { priority: 10 } },
    ready: { phase: 'ready', spec: { priority: 20 } },
  });
  expect(order()).toEqual(['home/ready', 'home/idle', 'home/error', 'home/offline']);
});

test('a status older than 15 minutes demotes no more', () => {
  const { clock, next } = setUp({ bad: { phase: 'error', spec: { priority: 90 } }, good: {} });
  clock.ms += 15 * 60_000;
  expect(next()).toBe('home/good');
  clock.ms += 1;
  expect(next()).toBe('home/bad');
});

test('an open circuit demotes, for its model alone, and its probe is given out once', () => {
  const { clock, circuits, next } = setUp({ a: { spec: { priority: 90 } }, b: {} });
  circuits.answered({ node: { id: 'home/a' }, model: 'm' }, 429, 10);
  expect(next()).toBe('home/b');
  expect(next(undefined, ['home/b'])).toBe('home/a');
  clock.ms += 10_000;
  expect(next()).toBe('home/a');
  expect(next()).toBe('home/b');
});

const tenancy: [string, NodeSketch & { at: string }, KeyEntry, string][] = [
  ['own namespace', { at: 'team/n' }, keyIn('team'), 'team/n'],
  ['home node that admits none but its own', { at: 'home/n' }, keyIn('team'), 'model_not_found'],
  [
    'home node that admits all',
    { at: 'home/n', spec: { callerNamespaces: { from: 'All' } } },
    keyIn('team'),
    'home/n',
  ],
  [
    'home node that names the team',
    { at: 'home/n', spec: { callerNamespaces: { from: 'Names', names: ['team'] } } },
    keyIn('team'),
    'home/n',
  ],
  [
    'home node that names another',
    { at: 'home/n', spec: { callerNamespaces: { from: 'Names', names: ['x'] } } },
    keyIn('team'),
    'model_not_found',
  ],
  [
    "another team's node that admits all, unasked",
    { at: 'bait/n', spec: { callerNamespaces: { from: 'All' } } },
    keyIn('team'),
    'model_not_found',
  ],
  [
    "another team's node that both sides name",
    { at: 'bait/n', spec: { callerNamespaces: { from: 'All' } } },
    keyIn('team', { nodeNamespaces: ['bait'] }),
    'bait/n',
  ],
  [
    "another team's node that only the key names",
    { at: 'bait/n' },
    keyIn('team', { nodeNamespaces: ['bait'] }),
    'model_not_found',
  ],
  [
    'a home key on a team node',
    { at: 'team/n', spec: { callerNamespaces: { from: 'All' } } },
    keyIn('home'),
    'model_not_found',
  ],
];
test.each(tenancy)('tenancy: %s', (_, { at, ...sketch }, key, expected) => {
  expect(setUp({ [at]: sketch }).next(key)).toBe(expected);
});

const refusals: [string, Record<string, NodeSketch>, KeyEntry, CallerFormat, string, string][] = [
  [
    'allowlist before existence',
    { n: {} },
    keyIn('home', { models: ['x'] }),
    'chat',
    'nowhere',
    'model_not_allowed',
  ],
  ['unknown', { n: {} }, keyIn('home'), 'chat', 'nowhere', 'model_not_found'],
  ['node disabled', { n: { spec: { enabled: false } } }, keyIn('home'), 'chat', 'm', 'model_disabled'],
  ['model disabled', { n: { enabled: false } }, keyIn('home'), 'chat', 'm', 'model_disabled'],
  [
    'disabled, and out of sight',
    { n: { spec: { enabled: false } } },
    keyIn('team'),
    'chat',
    'm',
    'model_not_found',
  ],
  ['no credential', { n: { refused: true } }, keyIn('home'), 'chat', 'm', 'no_node_available'],
];
test.each(refusals)('refusal: %s', (_, nodes, key, format, model, expected) => {
  expect(setUp(nodes).next(key, [], format, model)).toBe(expected);
});

describe.each([
  ['completions', 'Completions'],
  ['responses', 'Responses'],
  ['messages', 'Messages'],
] as const)('%s', (format, native) => {
  const nativeFormats = [native];

  test('every node serves it; the pick says whether it speaks it', () => {
    const { router, next } = setUp({
      other: { spec: { priority: 90 } },
      speaker: { spec: { nativeFormats } },
    });
    expect(next(undefined, [], format)).toBe('home/other');
    expect(router.next('m', keyIn('home'), format, triedNodes([]))).toMatchObject({ native: false });
    expect(router.next('m', keyIn('home'), format, triedNodes(['home/other']))).toMatchObject({
      native: true,
    });
    expect(router.next('m', keyIn('home'), 'chat', triedNodes([]))).toMatchObject({ native: true });
  });

  test('with both sorts in one priority the wish decides, and is asked for', () => {
    const { next } = setUp({
      other: { spec: { weight: 100 } },
      speaker: { spec: { nativeFormats, weight: 1 } },
    });
    expect(next(undefined, [], format)).toBe('ask');
    for (let i = 0; i < 20; i++) expect(next(undefined, [], format, 'm', 'preferred')).toBe('home/speaker');
    expect(next(undefined, ['home/speaker'], format, 'm', 'preferred')).toBe('home/other');
    const shares = Array.from({ length: 200 }, () => next(undefined, [], format, 'm', 'any'));
    expect(shares.filter((id) => id === 'home/other').length).toBeGreaterThan(180);
  });

  test('the wish does not overrule priority; only native nodes may be asked for', () => {
    const { next } = setUp({
      other: { spec: { priority: 90 } },
      speaker: { spec: { nativeFormats } },
      demoted: { spec: { nativeFormats, priority: 100 }, phase: 'offline' },
    });
    expect(next(undefined, [], format, 'm', 'preferred')).toBe('home/other');
    expect(next(undefined, [], format, 'm', 'only')).toBe('home/speaker');
    expect(next(undefined, ['home/speaker'], format, 'm', 'only')).toBe('home/demoted');
    expect(next(undefined, ['home/speaker', 'home/demoted'], format, 'm', 'only')).toBeUndefined();
  });
});

test('tokens are counted by native nodes, then by those that tokenize, whatever their priority', () => {
  const { next } = setUp({
    plain: { spec: { priority: 90 } },
    tokenizes: { spec: { priority: 10, dialect: { tokenize: true } } },
    speaker: { spec: { priority: 1, nativeFormats: ['Messages'] } },
  });
  expect(next(undefined, [], 'count_tokens')).toBe('home/speaker');
  expect(next(undefined, ['home/speaker'], 'count_tokens')).toBe('home/tokenizes');
  expect(next(undefined, ['home/speaker', 'home/tokenizes'], 'count_tokens')).toBe('home/plain');
});
