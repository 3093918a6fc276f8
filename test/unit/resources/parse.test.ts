import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isForeign, parseResource, parseStored } from '../../../src/resources/parse.ts';
import { fieldPath, problemLine } from '../../../src/resources/problem.ts';
import { reasons } from '../../../src/resources/reasons.ts';
import { secretValue } from '../../../src/resources/secret.ts';
import { computedMs } from '../../support/computed.ts';

function lines(document: unknown): string[] {
  const result = parseResource(document);
  return 'problems' in result ? result.problems.map(problemLine) : [];
}

function node(spec: unknown, metadata: object = {}): Record<string, unknown> {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { name: 'node', ...metadata },
    spec,
  };
}

const good = { baseURL: 'https://api.example.com/v1' };
const shape = 'is not an object; write apiVersion, kind, metadata and spec';

describe('documents that are none of ours', () => {
  test.each([
    [null, shape],
    ['text', shape],
    [[], shape],
    [{}, 'kind: is missing; write UpstreamNode or APIKey or MasterKey or Secret'],
    [{ kind: 'ApiKey' }, 'kind: "ApiKey" is not a kind we know; did you mean APIKey?'],
    [{ kind: 'Pod' }, 'kind: "Pod" is not a kind we know; use UpstreamNode or APIKey or MasterKey or Secret'],
    [{ kind: 'APIKey' }, 'apiVersion: is missing; write modelgateway.dev/v1alpha1'],
    [
      { kind: 'APIKey', apiVersion: 'modelgateway.dev/v1' },
      'apiVersion: "modelgateway.dev/v1" is not the version of this kind; write modelgateway.dev/v1alpha1',
    ],
    [{ kind: 'Secret', apiVersion: 'v2' }, 'apiVersion: "v2" is not the version of this kind; write v1'],
  ])('%j', (document, line) => {
    expect(lines(document)).toEqual([line]);
    expect(parseStored(document)).toHaveProperty('problems');
  });

  test.each([
    [{ apiVersion: 'apps/v1', kind: 'Deployment' }, true],
    [{ apiVersion: 'v1', kind: 'Namespace' }, true],
    [{ apiVersion: 'other.example/v1', kind: 'Secret' }, true],
    [{ apiVersion: 'v1', kind: 'Secret' }, false],
    [{ apiVersion: 'modelgateway.dev/v1alpha1', kind: 'Unknown' }, false],
    [{ apiVersion: 'v1', kind: 'UpstreamNode' }, false],
    [{ kind: 'Deployment' }, false],
    ['text', false],
  ])('%j is foreign: %s', (document, foreign) => {
    expect(isForeign(document)).toBe(foreign);
  });
});

test('metadata: what is kept, what is dropped, what is refused', () => {
  const kept = {
    namespace: 'team',
    uid: 'u',
    resourceVersion: '5',
    generation: 2,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { a: 'b' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'x', controller: true }],
  };
  const dropped = { managedFields: [{}], selfLink: '/', finalizers: ['a/b'], generateName: 'n-' };
  const result = parseResource(node(good, { ...kept, ...dropped }));
  expect(result).toMatchObject({ resource: { metadata: { name: 'node', ...kept } } });
  expect('resource' in result && Object.keys(result.resource.metadata)).not.toContain('managedFields');
  expect(parseResource(node(good))).toMatchObject({ resource: { metadata: { namespace: 'default' } } });
  expect(lines(node(good, { namespace: 'A' }))[0]).toMatch(/^metadata.namespace: "A" must be/);
  expect(lines({ ...node(good), metadata: undefined })).toEqual(['metadata: is missing; add it']);
  expect(lines({ ...node(good), metadata: {} })).toEqual(['metadata.name: is missing; add it']);
});

test("status is not the author's to write, and is kept from a store", () => {
  const document = { ...node(good), status: { phase: 'ready', models: 5 } };
  expect(parseResource(document)).not.toHaveProperty('resource.status');
  expect(lines(document)).toEqual([]);
  expect(parseStored(document)).toHaveProperty('problems');
  const stored = { ...node(good), status: { phase: 'ready', added: 'later' } };
  expect(parseStored(stored)).toHaveProperty('resource.status', { phase: 'ready' });
});

test('fields of a newer version are dropped from a stored object', () => {
  const stored = parseStored(node({ ...good, added: 'later', sync: { added: 1 } }));
  expect(stored).toHaveProperty('resource.spec.sync.intervalSeconds', 3_600);
  expect(stored).not.toHaveProperty('resource.spec.added');
});

test.each([
  ['high', 'correct it'],
  ['70', 'remove the quotes'],
])('a text in the place of a number: %j', (priority, remedy) => {
  expect(lines(node({ ...good, priority }))).toEqual([
    `spec.priority: must be a number, not a string; ${remedy}`,
  ]);
});

test('a member that JavaScript knows by itself is still unknown', () => {
  expect(lines(node({ ...good, constructor: 1 }))[0]).toMatch(/^spec.constructor: is not a field/);
  expect(
    lines(JSON.parse(JSON.stringify(node(good)).replace('"baseURL"', '"__proto__": {}, "baseURL"')))[0],
  ).toMatch(/^spec.__proto__: is not a field/);
});

describe('Secrets', () => {
  const secret = (content: object) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    ...content,
  });

  test('stringData goes into data, and wins', () => {
    const result = parseResource(
      secret({ type: 'Opaque', data: { a: 'YQ==', b: 'Yg==' }, stringData: { b: 'é\n' } }),
    );
    if ('problems' in result || result.resource.kind !== 'Secret') throw new Error('not taken');
    expect(result.resource.data).toEqual({ a: 'YQ==', b: 'w6kK' });
    expect(secretValue(result.resource, 'a')).toBe('a');
    expect(secretValue(result.resource, 'b')).toBe('é');
    expect(secretValue(result.resource, 'c')).toBeUndefined();
    expect(secretValue(result.resource, 'constructor')).toBeUndefined();
    expect(result.resource).not.toHaveProperty('stringData');
  });

  test('no data at all is no fault; an empty entry holds no value', () => {
    expect(parseResource(secret({}))).toHaveProperty('resource.data', {});
    const result = parseStored(secret({ data: { a: '', b: 'IAo=' } }));
    if ('problems' in result || result.resource.kind !== 'Secret') throw new Error('not taken');
    expect(secretValue(result.resource, 'a')).toBeUndefined();
    expect(secretValue(result.resource, 'b')).toBeUndefined();
  });

  test('what is wrong is told without the content', () => {
    const said = lines(secret({ data: { a: 'planted!' }, stringData: { b: 5 }, datas: { c: 'planted' } }));
    expect(said).toEqual([
      'datas: is not a field; did you mean data?',
      'data.a: must be base64; encode it, or write it as plain text under stringData',
      'stringData.b: must be a string, not a number; put it in quotes',
    ]);
  });
});

test('defaults and bounds are those of the design', () => {
  expect(parseResource(node({ ...good, apiKeySecretRef: { name: 'a' } }))).toHaveProperty('resource.spec', {
    ...good,
    apiKeySecretRef: { name: 'a', key: 'apiKey' },
    authentication: 'Bearer',
    enabled: true,
    priority: 50,
    weight: 50,
    callerNamespaces: { from: 'Same' },
    sync: { intervalSeconds: 3_600, newModels: 'Enabled', discovery: 'Always', suspend: false },
    healthCheck: { mode: 'Models', intervalSeconds: 60, timeoutSeconds: 5, failureThreshold: 3 },
    timeouts: { connectSeconds: 5, firstByteSeconds: 120, idleSeconds: 120, totalSeconds: 900 },
  });
  const key = {
    apiVersion: 'modelgateway.dev/v1alpha1',
    metadata: { name: 'key' },
    spec: { secretName: 'a' },
  };
  expect(parseResource({ ...key, kind: 'APIKey' })).toHaveProperty('resource.spec', {
    enabled: true,
    secretName: 'a',
    priority: 'Normal',
    conversion: 'Lossy',
  });
  const within = {
    priority: 0,
    weight: 1,
    sync: { intervalSeconds: 604_800 },
    healthCheck: { intervalSeconds: 3_600 },
  };
  expect(lines(node({ ...good, ...within }))).toEqual([]);
  const beyond = {
    priority: 101,
    weight: 101,
    sync: { intervalSeconds: 604_801 },
    healthCheck: { intervalSeconds: 3_601, timeoutSeconds: 61, failureThreshold: 11 },
    manualModels: Array.from({ length: 1_001 }, (_, index) => `m${index}`),
    models: Array.from({ length: 2_001 }, (_, index) => ({ name: `m${index}` })),
    displayName: 'x'.repeat(254),
  };
  expect(lines(node({ ...good, ...beyond })).map((line) => line.split(':')[0])).toEqual([
    'spec.displayName',
    'spec.priority',
    'spec.weight',
    'spec.manualModels',
    'spec.models',
    'spec.sync.intervalSeconds',
    'spec.healthCheck.intervalSeconds',
    'spec.healthCheck.timeoutSeconds',
    'spec.healthCheck.failureThreshold',
  ]);
});

describe('hostile documents', () => {
  test('never throw and never tell more than 20 problems', () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`field${index}`, index]));
    expect(lines(node({ ...good, ...many }))).toHaveLength(20);
    expect(lines(node({ ...good, manualModels: Array(1_000).fill(5) }))).toHaveLength(20);
    expect(lines(node({ ...good, manualModels: Array(200_000).fill('a') }))).toEqual([
      'spec.manualModels: must have at most 1000 entries; remove some',
    ]);
    let deep: unknown = 'x';
    for (let depth = 0; depth < 100_000; depth += 1) deep = { spec: [deep] };
    expect(lines(node(deep)).length).toBeGreaterThan(0);
    expect(lines(node({ ...good, dialect: deep })).length).toBeGreaterThan(0);
  });

  test('text of a megabyte is judged at once', () => {
    const long = `${'_'.repeat(1_000_000)}!`;
    const fields = {
      displayName: long,
      baseURL: `http://${long}`,
      apiKeySecretRef: { name: long, key: long },
    };
    const start = computedMs();
    const said = lines(
      node({ ...fields, tls: { serverName: long }, headers: [{ name: long, value: ` ${long}` }] }),
    );
    expect(computedMs() - start).toBeLessThan(5_000);
    expect(said.every((line) => /must have at most [0-9]+ characters/.test(line) && line.length < 250)).toBe(
      true,
    );
    expect(said).toHaveLength(7);
  });

  test('text at the bound is judged fast, whatever it holds', () => {
    const urls = ['_', '-', 'a', '1', '.', 'a.', '/'].map(
      (part) => `http://${part.repeat(2_041).slice(0, 2_040)}!`,
    );
    const start = computedMs();
    for (const baseURL of urls) lines(node({ baseURL }));
    expect(computedMs() - start).toBeLessThan(500);
  });

  test('anything is parsed or refused', () => {
    const anything = fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true });
    fc.assert(
      fc.property(anything, anything, (spec, metadata) => {
        for (const kind of ['UpstreamNode', 'APIKey', 'MasterKey']) {
          const document = { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata, spec };
          expect('problems' in parseResource(document)).toBe(true);
        }
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});

test('places are written as people do', () => {
  expect(fieldPath(['spec', 'models', 2, 'name'])).toBe('spec.models[2].name');
  expect(fieldPath(['metadata', 'labels', 'example.com/team'])).toBe('metadata.labels["example.com/team"]');
  expect(fieldPath(['a\nb'])).toBe('["a\\nb"]');
});

test('reasons are CamelCase words that Kubernetes takes, each with sentences', () => {
  for (const [reason, { meaning, remedy }] of Object.entries(reasons)) {
    expect(reason).toMatch(/^[A-Z][A-Za-z0-9]{1,127}$/);
    for (const text of [meaning, remedy]) expect(text).toMatch(/^[A-Z`].*\.$/);
  }
});

test('an object in the place of a name is refused, whatever its members are called', () => {
  expect(lines(node({ ...good, nativeFormats: [{ toString: 1, valueOf: 2 }] }))).toEqual([
    expect.stringMatching(
      /^spec\.nativeFormats\[0\]: .*must be one of Responses, Messages, Completions; use one of them$/,
    ),
  ]);
});
