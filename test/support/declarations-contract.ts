import { describe, expect, test } from 'vitest';
import {
  DeclarationError,
  type Declarations,
  type Declared,
  type Ref,
} from '../../src/cli/edit/declarations.ts';
import type { Edit } from '../../src/cli/edit/edit.ts';

/** What a test of `Declarations` works on. */
export interface ContractPlace {
  readonly declarations: Declarations;
  /** A namespace of this test's own. */
  readonly namespace: string;
}

const signal = AbortSignal.timeout(250_000);
const baseURL = 'http://models.example/v1';

/** The failure of a call. @throws when it succeeds or fails otherwise */
export async function refusal(call: Promise<unknown>): Promise<DeclarationError> {
  const error = await call.then(
    (value) => new Error(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof DeclarationError)) throw error;
  return error;
}

const set = (value: unknown, ...path: Edit['path']): Edit => ({ path, value });
const remove = (...path: Edit['path']): Edit => ({ path, remove: true });
const model = (name: string) => ['spec', 'models', { name }] as const;
const sealed = '-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n-----END AGE ENCRYPTED FILE-----\n';

interface Row {
  readonly what: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly edits: readonly Edit[];
  /** What the spec has afterwards, among other things; undefined stands for a field that is absent. */
  readonly gives: Readonly<Record<string, unknown>>;
}

const rows: readonly Row[] = [
  { what: 'disables', edits: [set(false, 'spec', 'enabled')], gives: { enabled: false } },
  {
    what: 'enables',
    spec: { enabled: false },
    edits: [set(true, 'spec', 'enabled')],
    gives: { enabled: true },
  },
  {
    what: 'sets what has a default',
    edits: [set(7, 'spec', 'priority')],
    gives: { priority: 7, weight: 50 },
  },
  {
    what: 'gives a default back',
    spec: { priority: 7 },
    edits: [remove('spec', 'priority')],
    gives: { priority: 50 },
  },
  {
    what: 'sets and clears texts',
    spec: { displayName: 'Old' },
    edits: [remove('spec', 'displayName')],
    gives: { displayName: undefined },
  },
  {
    what: 'replaces a list',
    spec: { manualModels: ['a', 'b'] },
    edits: [set(['b', 'c'], 'spec', 'manualModels')],
    gives: { manualModels: ['b', 'c'] },
  },
  {
    what: 'removes a list',
    spec: { manualModels: ['a'] },
    edits: [remove('spec', 'manualModels')],
    gives: { manualModels: undefined },
  },
  {
    what: 'makes entries with their list',
    edits: [set(false, ...model('m/1:x'), 'enabled'), set(true, ...model('n'), 'enabled')],
    gives: {
      models: [
        { name: 'm/1:x', enabled: false },
        { name: 'n', enabled: true },
      ],
    },
  },
  {
    what: 'changes one entry of several',
    spec: {
      models: [
        { name: 'a', enabled: true },
        { name: 'b', aliases: ['c'] },
      ],
    },
    edits: [set(false, ...model('a'), 'enabled'), set(false, ...model('b'), 'enabled')],
    gives: {
      models: [
        { name: 'a', enabled: false },
        { name: 'b', aliases: ['c'], enabled: false },
      ],
    },
  },
  {
    what: 'removes an entry that says nothing any more, and keeps one that does',
    spec: {
      models: [
        { name: 'a', enabled: true },
        { name: 'b', enabled: true, aliases: ['c'] },
      ],
    },
    edits: [remove(...model('a'), 'enabled'), remove(...model('b'), 'enabled')],
    gives: { models: [{ name: 'b', aliases: ['c'] }] },
  },
  {
    what: 'removes the list with its last entry',
    spec: { models: [{ name: 'a', enabled: true }] },
    edits: [remove(...model('a'))],
    gives: { models: undefined },
  },
  {
    what: 'changes an entry from one source to another',
    spec: {
      headers: [
        { name: 'x-a', value: '1' },
        { name: 'x-b', value: '2' },
      ],
    },
    edits: [
      remove('spec', 'headers', { name: 'x-a' }, 'value'),
      set({ name: 's', key: 'k' }, 'spec', 'headers', { name: 'x-a' }, 'secretRef'),
    ],
    gives: {
      headers: [
        { name: 'x-b', value: '2' },
        { name: 'x-a', secretRef: { name: 's', key: 'k' } },
      ],
    },
  },
  {
    what: 'makes parents',
    edits: [set('Disabled', 'spec', 'sync', 'newModels')],
    gives: { sync: { intervalSeconds: 3600, newModels: 'Disabled', discovery: 'Always', suspend: false } },
  },
  {
    what: 'changes a credential from a Secret to a sealed one at once',
    spec: { apiKeySecretRef: { name: 's' } },
    edits: [remove('spec', 'apiKeySecretRef'), set(sealed, 'spec', 'encryptedAPIKey')],
    gives: { apiKeySecretRef: undefined, encryptedAPIKey: sealed },
  },
  {
    what: 'replaces an object',
    spec: { callerNamespaces: { from: 'Names', names: ['a'] } },
    edits: [set({ from: 'All' }, 'spec', 'callerNamespaces'), remove('spec', 'callerNamespaces', 'names')],
    gives: { callerNamespaces: { from: 'All' } },
  },
];

/** What every kind of `Declarations` does alike. `open` gives a place of its own to the whole of it. */
export function declarationsContract(open: () => ContractPlace): void {
  let count = 0;
  const fresh = async (spec: Readonly<Record<string, unknown>> = {}) => {
    count += 1;
    const { declarations, namespace } = open();
    const ref = { kind: 'UpstreamNode', namespace, name: `node-${count}` } as const;
    const made = await declarations.create(
      { kind: 'UpstreamNode', metadata: { namespace, name: ref.name }, spec: { baseURL, ...spec } },
      {},
      signal,
    );
    return { declarations, ref, made };
  };
  const key = async (spec: Readonly<Record<string, unknown>>) => {
    count += 1;
    const { declarations, namespace } = open();
    const ref = { kind: 'APIKey', namespace, name: `key-${count}` } as const;
    await declarations.create({ kind: 'APIKey', metadata: { namespace, name: ref.name }, spec }, {}, signal);
    return { declarations, ref };
  };
  const specOf = ({ resource }: Declared<'UpstreamNode'>) => resource.spec as Record<string, unknown>;

  describe('edits', () => {
    test.each(rows)('$what', async ({ spec, edits, gives }) => {
      const { declarations, ref, made } = await fresh(spec);
      const tried = await declarations.edit(ref, edits, { dryRun: true }, signal);
      expect((await declarations.get(ref, signal)).version).toBe(made.version);
      const edited = await declarations.edit(ref, edits, { version: made.version }, signal);
      const read = await declarations.get(ref, signal);
      for (const each of [tried, edited, read]) {
        const found = specOf(each);
        expect(Object.fromEntries(Object.keys(gives).map((field) => [field, sorted(found[field])]))).toEqual(
          Object.fromEntries(Object.entries(gives).map(([field, value]) => [field, sorted(value)])),
        );
        expect(found['baseURL']).toBe(baseURL);
      }
      expect(read.version).toBe(edited.version);
      expect(read.version).not.toBe(made.version);
    });

    test('labels and annotations', async () => {
      const { declarations, ref } = await fresh();
      const at = 'modelgateway.dev/sync-requested-at';
      const edited = await declarations.edit(
        ref,
        [set('now', 'metadata', 'annotations', at), set('a', 'metadata', 'labels', 'example.com/team')],
        {},
        signal,
      );
      expect(edited.resource.metadata.annotations?.[at]).toBe('now');
      const back = await declarations.edit(
        ref,
        [remove('metadata', 'labels', 'example.com/team')],
        {},
        signal,
      );
      expect(back.resource.metadata.labels).toBeUndefined();
      expect(back.resource.metadata.annotations?.[at]).toBe('now');
    });

    test('what is so already changes nothing, not even the version', async () => {
      const { declarations, ref, made } = await fresh({ models: [{ name: 'a', enabled: true }] });
      const edits = [
        set(true, 'spec', 'enabled'),
        set(50, 'spec', 'weight'),
        set(true, ...model('a'), 'enabled'),
      ];
      const edited = await declarations.edit(ref, edits, {}, signal);
      expect(edited.version).toBe(made.version);
      expect(edited.manifest).toBe(made.manifest);
    });

    test('a key: switched off, limited, rotated', async () => {
      const { declarations, ref } = await key({ secretName: 'issued' });
      const edits = [
        set(false, 'spec', 'enabled'),
        set('2030-01-31T00:00:00Z', 'spec', 'expirationTime'),
        set(['m'], 'spec', 'models'),
        set(1, 'spec', 'rotation', 'revision'),
      ];
      const { spec } = (await declarations.edit(ref, edits, {}, signal)).resource;
      expect(spec).toMatchObject({
        enabled: false,
        expirationTime: '2030-01-31T00:00:00Z',
        models: ['m'],
        rotation: { revision: 1, overlapSeconds: 3600 },
      });
    });
  });

  describe('two people', () => {
    test('who changed it since it was read is not overwritten', async () => {
      const { declarations, ref, made } = await fresh();
      await declarations.edit(ref, [set(1, 'spec', 'priority')], { version: made.version }, signal);
      const late = declarations.edit(ref, [set(2, 'spec', 'priority')], { version: made.version }, signal);
      const error = await refusal(late);
      expect([error.reason, error.message]).toEqual([
        'Conflict',
        expect.stringContaining('changed since you read it'),
      ]);
      expect((await refusal(declarations.remove(ref, { version: made.version }, signal))).reason).toBe(
        'Conflict',
      );
      expect((await declarations.get(ref, signal)).resource.spec.priority).toBe(1);
    });

    test('edits of different fields at the same time all stay', async () => {
      const { declarations, ref } = await fresh();
      const names = ['a', 'b', 'c', 'd'];
      await Promise.all(
        names.map((name) => declarations.edit(ref, [set(false, ...model(name), 'enabled')], {}, signal)),
      );
      const { models = [] } = (await declarations.get(ref, signal)).resource.spec;
      expect(models.map(({ name }) => name).sort()).toEqual(names);
    });
  });

  describe('refuses', () => {
    const missing = { kind: 'UpstreamNode', name: 'missing' } as const;
    test('what is not there', async () => {
      const { declarations, namespace } = open();
      const ref: Ref<'UpstreamNode'> = { ...missing, namespace };
      const edit = [set(false, 'spec', 'enabled')];
      for (const call of [
        () => declarations.get(ref, signal),
        () => declarations.edit(ref, edit, {}, signal),
        () => declarations.edit(ref, edit, { dryRun: true }, signal),
        () => declarations.remove(ref, {}, signal),
      ]) {
        const { reason, message } = await refusal(call());
        expect([reason, message]).toEqual([
          'NotFound',
          expect.stringContaining(`UpstreamNode ${namespace}/missing`),
        ]);
      }
    });

    test('a name that is taken', async () => {
      const { declarations, ref, made } = await fresh();
      const again = { kind: ref.kind, metadata: ref, spec: { baseURL: 'http://other.example/v1' } };
      const manifest = { ...again, metadata: { namespace: ref.namespace, name: ref.name } };
      for (const dryRun of [true, false]) {
        expect((await refusal(declarations.create(manifest, { dryRun }, signal))).reason).toBe(
          'AlreadyExists',
        );
      }
      expect((await declarations.get(ref, signal)).version).toBe(made.version);
    });

    test.each([
      {
        what: 'a value beyond its bound',
        edits: [set(101, 'spec', 'priority')],
        field: 'spec.priority',
        says: 'must be at most 100; lower it',
      },
      {
        what: 'an unknown field',
        edits: [set(1, 'spec', 'priorty')],
        field: 'spec.priorty',
        says: 'did you mean priority',
      },
      {
        what: 'a wrong type',
        edits: [set('no', 'spec', 'enabled')],
        field: 'spec.enabled',
        says: 'must be true or false',
      },
      {
        what: 'a required field gone',
        edits: [remove('spec', 'baseURL')],
        field: 'spec.baseURL',
        says: 'missing',
      },
      {
        what: 'two credentials',
        edits: [set({ name: 's' }, 'spec', 'apiKeySecretRef'), set(sealed, 'spec', 'encryptedAPIKey')],
        field: 'spec.encryptedAPIKey',
        says: 'keep one of the two',
      },
    ])('$what', async ({ edits, field, says }) => {
      const { declarations, ref, made } = await fresh();
      for (const dryRun of [true, false]) {
        const error = await refusal(declarations.edit(ref, edits, { dryRun }, signal));
        expect(error.reason).toBe('Invalid');
        expect(error.causes).toContainEqual({ field, message: expect.stringContaining(says) });
        expect(error.message).toContain(`UpstreamNode ${ref.namespace}/${ref.name}`);
      }
      const spec = {
        baseURL,
        ...Object.fromEntries(
          edits.flatMap((edit) => ('value' in edit ? [[String(edit.path[1]), edit.value]] : [])),
        ),
      };
      if (edits.every((edit) => 'value' in edit)) {
        const create = declarations.create(
          { kind: 'UpstreamNode', metadata: { ...ref, name: 'bad' }, spec },
          {},
          signal,
        );
        expect((await refusal(create)).causes.map((cause) => cause.field)).toContain(field);
      }
      expect((await declarations.get(ref, signal)).version).toBe(made.version);
    });

    test('a credential in the wrong place, without repeating it', async () => {
      const { declarations, ref } = await fresh();
      const secret = 'sk-do-not-tell-0123456789';
      for (const edit of [
        set(secret, 'spec', 'encryptedAPIKey'),
        set({ key: secret }, 'spec', 'apiKeySecretRef'),
        set(secret, 'spec', 'apiKey'),
      ]) {
        const error = await refusal(declarations.edit(ref, [edit], {}, signal));
        expect(error.reason).toBe('Invalid');
        expect(JSON.stringify([error.message, error.causes])).not.toContain(secret);
      }
    });

    test('to change what must not change', async () => {
      const { declarations, ref } = await key({ secretName: 'issued', rotation: { revision: 3 } });
      const other = await refusal(declarations.edit(ref, [set('other', 'spec', 'secretName')], {}, signal));
      expect([other.reason, other.causes[0]?.field]).toEqual(['Invalid', 'spec.secretName']);
      const lower = await refusal(
        declarations.edit(ref, [set(2, 'spec', 'rotation', 'revision')], {}, signal),
      );
      expect([lower.reason, lower.causes[0]?.field]).toEqual(['Invalid', 'spec.rotation']);
    });
  });

  describe('an edited manifest', () => {
    test('comes back as it was written', async () => {
      const { declarations, ref, made } = await fresh({
        priority: 5,
        models: [{ name: 'a', enabled: true }, { name: 'b' }],
      });
      expect(made.manifest).toContain('priority: 5');
      expect(made.manifest).not.toContain('timeouts');
      const text = made.manifest
        .replace('priority: 5', 'priority: 6')
        .replace('enabled: true', 'enabled: false');
      const { resource, manifest } = await declarations.rewrite(made, text, {}, signal);
      expect(resource.spec).toMatchObject({
        priority: 6,
        models: [{ name: 'a', enabled: false }, { name: 'b' }],
      });
      expect(manifest).toBe(text);
      expect(
        (
          await refusal(
            declarations.rewrite(made, made.manifest.replace('priority: 5', 'priority: 7'), {}, signal),
          )
        ).reason,
      ).toBe('Conflict');
      expect((await declarations.get(ref, signal)).manifest).toBe(text);
    });

    test('is refused with another name, and where it is not YAML', async () => {
      const { declarations, made } = await fresh();
      const renamed = await refusal(
        declarations.rewrite(made, made.manifest.replace(/name: .*/, 'name: other'), {}, signal),
      );
      expect([renamed.reason, renamed.causes[0]?.field]).toEqual(['Invalid', 'metadata.name']);
      const broken = await refusal(declarations.rewrite(made, `${made.manifest}\n  x: [`, {}, signal));
      expect([broken.reason, broken.message]).toEqual(['Invalid', expect.stringMatching(/line \d+/)]);
    });
  });

  test('lists, watches and removes', async () => {
    const { declarations, namespace } = open();
    const seen: string[] = [];
    const stop = new AbortController();
    const listed = Promise.withResolvers<void>();
    const first = await fresh();
    const watching = declarations.watch(
      'UpstreamNode',
      namespace,
      ({ ref, before, after }) => {
        if (ref.name !== first.ref.name) return;
        seen.push(`${before?.resource.spec.priority ?? '-'} > ${after?.resource.spec.priority ?? '-'}`);
      },
      stop.signal,
      listed.resolve,
    );
    await listed.promise;
    expect(seen).toEqual(['- > 50']);
    const { ref } = first;
    await declarations.edit(ref, [set(51, 'spec', 'priority')], {}, signal);
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(2);
    const names = (await declarations.list('UpstreamNode', namespace, signal)).map(
      ({ resource }) => resource.metadata.name,
    );
    expect(names).toContain(ref.name);
    expect(names).toEqual([...names].sort());
    expect((await declarations.list('MasterKey', namespace, signal)).length).toBe(0);
    await declarations.remove(ref, { dryRun: true }, signal);
    await declarations.get(ref, signal);
    await declarations.remove(ref, {}, signal);
    expect((await refusal(declarations.get(ref, signal))).reason).toBe('NotFound');
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual(['- > 50', '50 > 51', '51 > -']);
    stop.abort();
    await watching;
  });
}

/** Lists of the API server's may be in any order. */
function sorted(value: unknown): unknown {
  return Array.isArray(value)
    ? [...value].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    : value;
}
