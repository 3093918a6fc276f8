import { describe, expect, test } from 'vitest';
import { applyEdits, pathText, valueAt } from '../../../../src/cli/edit/apply-edits.ts';
import { DeclarationError } from '../../../../src/cli/edit/declarations.ts';
import type { Edit } from '../../../../src/cli/edit/edit.ts';
import { manifestDiff } from '../../../../src/cli/edit/manifest-diff.ts';
import {
  clearedKeyEdits,
  modelEdits,
  sealedKeyEdits,
  syncEdit,
} from '../../../../src/cli/edit/node-edits.ts';
import {
  generateSealingIdentity,
  openSealedKey,
  sealingRecipient,
} from '../../../../src/resources/sealed-key.ts';
import { nodeOf } from '../../controller/resources.ts';

const manifest = (spec: string, metadata = 'name: a') =>
  `apiVersion: modelgateway.dev/v1alpha1\nkind: UpstreamNode\nmetadata: {${metadata}}\nspec: {${spec}}\n`;

describe('manifestDiff', () => {
  test.each<[string, string, string, readonly Edit[]]>([
    ['nothing', 'a: 1', 'a: 1 # said\n', []],
    ['order, style and nulls mean nothing', 'a: 1, b: x', 'c: null, "b": "x", a: 0x1', []],
    [
      'scalars set, made and removed',
      'a: 1, b: 2',
      'a: 3, c: 4',
      [
        { path: ['spec', 'a'], value: 3 },
        { path: ['spec', 'b'], remove: true },
        { path: ['spec', 'c'], value: 4 },
      ],
    ],
    [
      'members of objects one by one',
      'sync: {x: 1, y: 2}',
      'sync: {x: 1, y: 3}',
      [{ path: ['spec', 'sync', 'y'], value: 3 }],
    ],
    [
      'named entries one by one',
      'models: [{name: a, enabled: true}, {name: b}]',
      'models: [{name: c}, {name: a, enabled: false}]',
      [
        { path: ['spec', 'models', { name: 'a' }, 'enabled'], value: false },
        { path: ['spec', 'models', { name: 'b' }], remove: true },
        { path: ['spec', 'models', { name: 'c' }], value: { name: 'c' } },
      ],
    ],
    [
      'the first entries of a list by themselves',
      '',
      'models: [{name: a}, {name: b}]',
      [
        { path: ['spec', 'models', { name: 'a' }], value: { name: 'a' } },
        { path: ['spec', 'models', { name: 'b' }], value: { name: 'b' } },
      ],
    ],
    ['a list that is emptied', 'models: [{name: a}]', '', [{ path: ['spec', 'models'], remove: true }]],
    ['other lists as one value', 'l: [a, b]', 'l: [b]', [{ path: ['spec', 'l'], value: ['b'] }]],
  ])('%s', (_, before, after, edits) => {
    expect(manifestDiff(manifest(before), manifest(after))).toEqual(edits);
  });

  test('labels and annotations', () => {
    const after = manifest('', 'name: a, labels: {t: x}, annotations: {"example.com/a": b}');
    expect(manifestDiff(manifest('', 'name: a, labels: {t: y, u: z}'), after)).toEqual([
      { path: ['metadata', 'labels', 't'], value: 'x' },
      { path: ['metadata', 'labels', 'u'], remove: true },
      { path: ['metadata', 'annotations', 'example.com/a'], value: 'b' },
    ]);
  });

  test.each([
    ['kind', (text: string) => text.replace('UpstreamNode', 'APIKey')],
    ['apiVersion', (text: string) => text.replace('v1alpha1', 'v2')],
    ['metadata.name', (text: string) => text.replace('name: a', 'name: b')],
    ['metadata.namespace', (text: string) => text.replace('name: a', 'name: a, namespace: b')],
    ['data', (text: string) => `${text}data: {a: b}\n`],
    ['spec', (text: string) => text.replace('spec: {}', 'spec: text')],
  ])('refuses another %s', (field, change) => {
    const before = manifest('');
    let error: unknown;
    try {
      manifestDiff(before, change(before));
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof DeclarationError)) throw new Error('not refused');
    expect([error.reason, error.causes[0]?.field]).toEqual(['Invalid', field]);
  });
});

describe('applyEdits', () => {
  test('leaves the object as it was, and what two places share apart', () => {
    const shared = { x: 1 };
    const object = { spec: { a: shared, b: shared } };
    expect(applyEdits(object, [{ path: ['spec', 'a', 'x'], value: 2 }])).toEqual({
      spec: { a: { x: 2 }, b: { x: 1 } },
    });
    expect(object.spec.a).toEqual({ x: 1 });
  });

  test('paths for people', () => {
    expect(pathText(['spec', 'models', { name: 'gpt-5' }, 'enabled'])).toBe('spec.models[gpt-5].enabled');
    expect(pathText(['metadata', 'labels', 'example.com/team'])).toBe('metadata.labels["example.com/team"]');
    expect(
      valueAt({ spec: { models: [{ name: 'a', enabled: false }] } }, [
        'spec',
        'models',
        { name: 'a' },
        'enabled',
      ]),
    ).toBe(false);
  });
});

describe('edits of nodes', () => {
  const ref = { kind: 'UpstreamNode', namespace: 'team', name: 'a' } as const;
  const node = {
    spec: {
      baseURL: 'https://old.example/v1',
      apiKeySecretRef: { name: 's' },
      models: [{ name: 'm', aliases: ['x'] }],
    },
  };

  test('several models at once, a sync, no key', () => {
    const declared = nodeOf('a', node.spec);
    expect(applyEdits(node, modelEdits(declared, ['m', 'n'], false))['spec']).toMatchObject({
      models: [
        { name: 'm', aliases: ['x'], enabled: false },
        { name: 'n', enabled: false },
      ],
    });
    expect(applyEdits(node, [syncEdit('now')])['metadata']).toEqual({
      annotations: { 'modelgateway.dev/sync-requested-at': 'now' },
    });
    expect(applyEdits(node, clearedKeyEdits)['spec']).not.toHaveProperty('apiKeySecretRef');
  });

  test('models that are switched off and on again leave no entry, unless something else needs it', () => {
    const known = (spec: object, models: readonly object[]) => ({
      ...nodeOf('a', { baseURL: 'https://a.example/v1', ...spec }),
      status: { models: models.map((model) => ({ enabled: true, source: 'Discovered', ...model })) },
    });
    const off = [
      { name: 'm', enabled: false },
      { name: 'n', enabled: false, aliases: ['x'] },
      { name: 'by-hand', enabled: false },
    ];
    const started = ['m', 'n'].map((name) => ({ name, enabled: false, startedEnabled: true }));
    const switchedOn = (spec: { models?: readonly object[] }, names: readonly string[]): unknown => {
      const declared = known(spec, started) as Parameters<typeof modelEdits>[0];
      return applyEdits({ spec }, modelEdits(declared, names, true))['spec'];
    };
    expect(switchedOn({ models: off }, ['m', 'n'])).toEqual({
      models: [
        { name: 'n', aliases: ['x'] },
        { name: 'by-hand', enabled: false },
      ],
    });
    expect(switchedOn({ models: off, manualModels: ['by-hand'] } as object, ['by-hand'])).toMatchObject({
      models: off.slice(0, 2),
    });
    // Declared again, it would start disabled.
    expect(switchedOn({ models: off, sync: { newModels: 'Disabled' } } as object, ['m'])).toMatchObject({
      models: [{ name: 'm', enabled: true }, ...off.slice(1)],
    });
  });

  test('more entries than a node can hold are refused with the patterns that do it', () => {
    const names = Array.from({ length: 3_006 }, (_, at) => `model-${at}`);
    const models = names.map((name) => ({ name, enabled: true, source: 'Discovered' as const }));
    const declared = { ...nodeOf('many'), status: { models } };
    expect(modelEdits(declared, names.slice(0, 2_000), false)).toHaveLength(2_000);
    expect(() => modelEdits(declared, names, false)).toThrow(
      /would need 3006 entries, and holds 2000.*node edit many --exclude-models/,
    );
    expect(() => modelEdits(nodeOf('many'), names, true)).toThrow(/--new-models enabled --exclude-models/);
    // What is on anyway needs no entry, however many.
    expect(modelEdits(declared, names, true)).toEqual([]);
  });

  test('a key is sealed for the node and its coming address', async () => {
    const identity = await generateSealingIdentity();
    const recipient = await sealingRecipient(identity);
    const place = { sealingRecipient: async () => recipient };
    const signal = AbortSignal.timeout(10_000);
    const baseURL = 'https://new.example/v1';
    const edits = await sealedKeyEdits(place, ref, baseURL, 'sk-secret', signal);
    const { apiKeySecretRef, encryptedAPIKey } = applyEdits(node, edits)['spec'] as Record<string, unknown>;
    expect(apiKeySecretRef).toBeUndefined();
    const sealed = { namespace: 'team', name: 'a', text: String(encryptedAPIKey), identities: [identity] };
    expect(await openSealedKey({ ...sealed, baseURL })).toEqual({ apiKey: 'sk-secret' });
    const error: unknown = await sealedKeyEdits(place, ref, baseURL, 'sk secret', signal).catch(
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof DeclarationError)) throw new Error('not refused');
    expect([error.reason, error.message]).toEqual(['Invalid', expect.not.stringContaining('sk secret')]);
  });
});
