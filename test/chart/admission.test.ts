import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeysApi } from '../../src/gateway/keys/keys-api.ts';
import type { ApiKey } from '../../src/resources/api-key.ts';
import type { KeyEntry, Store } from '../../src/store/store.ts';
import { render } from '../support/chart.ts';
import { accountWith, applyPolicies, deletePolicies } from '../support/chart-policies.ts';
import { type Cluster, sharedCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type Helm, startHelm } from '../support/helm.ts';
import { resourcePathOf, resourcesOf } from '../support/resources.ts';

// The chart's admission policies on the real API server, asked by real tokens. Requests are dry runs, so that none of
// them changes what the next one meets.
let cluster: Cluster;
let helm: Helm;
/** Any credential may be used in `home`, sealed ones only in `sealed`. */
let home: string;
let sealed: string;
const people = {} as Record<'editor' | 'secretReader' | 'gateway' | 'lenientGateway' | 'other', Cluster>;

beforeAll(async () => {
  cluster = sharedCluster();
  helm = await startHelm();
  await cluster.applyCrds();
  home = await cluster.newNamespace('admission');
  sealed = await cluster.newNamespace('admission-sealed');
  // From before the rule.
  const before = { baseURL: 'https://a.example/v1', apiKeySecretRef: { name: 'any' } };
  await resourcesOf(cluster).create('UpstreamNode', sealed, 'before', before);
  await applyPolicies(cluster, helm, home);
  await applyPolicies(cluster, helm, sealed, {
    credentials: { sealedOnly: true },
    admissionPolicies: { deleteDeclaredKeys: true },
  });
  const nodes = { apiGroups: ['modelgateway.dev'], resources: ['upstreamnodes'], verbs: ['*'] };
  const secrets = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };
  const keys = { apiGroups: ['modelgateway.dev'], resources: ['apikeys', 'upstreamnodes'], verbs: ['*'] };
  people.editor = await account('editor', [nodes, { ...secrets, resourceNames: ['mine'] }]);
  people.secretReader = await account('secret-reader', [nodes, secrets]);
  // More than its Role grants: the policy must hold even if somebody widens that.
  people.gateway = await account('mg-model-gateway-gateway', [keys]);
  people.other = await account('other', [keys]);
  people.lenientGateway = await account('mg-model-gateway-gateway', [keys], sealed);
  const resources = resourcesOf(cluster);
  const reference = { apiKeySecretRef: { name: 'mine' } };
  await resources.create('UpstreamNode', home, 'plain', { baseURL: 'https://a.example/v1' });
  await resources.create('UpstreamNode', home, 'mine', { baseURL: 'https://a.example/v1', ...reference });
  await resources.create('UpstreamNode', home, 'foreign', {
    baseURL: 'https://a.example/v1',
    apiKeySecretRef: { name: 'foreign' },
  });
  await resources.addKey(home, 'declared');
  await eventually('all policies are in force', async () => {
    const byEditor = await create('editor', home, node({ apiKeySecretRef: { name: 'foreign' } }));
    const byGateway = await as('gateway', 'DELETE', resourcePathOf('UpstreamNode', home, 'plain'));
    const inSealed = await cluster.client.send(
      'POST',
      `${resourcePathOf('UpstreamNode', sealed)}?dryRun=All`,
      {
        body: node(reference),
      },
    );
    return [byEditor.status, byGateway.status, inSealed.status].every((status) => status === 403);
  });
});
afterAll(async () => {
  for (const namespace of [home, sealed])
    if (namespace !== undefined) await deletePolicies(cluster, namespace);
  await helm?.[Symbol.asyncDispose]();
});

const account = (name: string, rules: readonly object[], namespace = home): Promise<Cluster> =>
  accountWith(cluster, namespace, name, rules);

type Who = keyof typeof people;

function as(who: Who, method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) {
  return people[who].client.send(method, `${path}?dryRun=All`, body === undefined ? {} : { body });
}

function create(who: Who, namespace: string, body: object) {
  return as(who, 'POST', resourcePathOf('UpstreamNode', namespace), body);
}

function node(spec: object) {
  const metadata = { name: 'new' };
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata,
    spec: { baseURL: 'https://evil.example/v1', ...spec },
  };
}

const header = (name: string, secret: string) => ({ name, secretRef: { name: secret, key: 'k' } });
const many = (count: number, secret: string) =>
  Array.from({ length: count }, (_, i) => header(`x-${i}`, secret));
const naming = (secret: string) =>
  new RegExp(`names the Secret "${secret}", which system:serviceaccount:.*:editor may not read`);

describe('who names a Secret must be allowed to read it', () => {
  test.each<[what: string, who: Who, spec: object, refused?: RegExp]>([
    ['no Secret', 'editor', {}],
    [
      'a sealed credential',
      'editor',
      { encryptedAPIKey: '-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n-----END AGE ENCRYPTED FILE-----\n' },
    ],
    ['a plain header', 'editor', { headers: [{ name: 'x-a', value: 'b' }] }],
    ['their own', 'editor', { apiKeySecretRef: { name: 'mine' } }],
    ['their own, often', 'editor', { apiKeySecretRef: { name: 'mine' }, headers: many(7, 'mine') }],
    ['another', 'editor', { apiKeySecretRef: { name: 'foreign' } }, naming('foreign')],
    [
      'the sealing one',
      'editor',
      { apiKeySecretRef: { name: 'model-gateway-sealing', key: 'identities' } },
      naming('model-gateway-sealing'),
    ],
    ['one that is not there yet', 'editor', { apiKeySecretRef: { name: 'later' } }, naming('later')],
    [
      'another, in a header',
      'editor',
      { headers: [{ name: 'x-a', value: 'b' }, header('x-b', 'foreign')] },
      naming('foreign'),
    ],
    [
      'another behind their own',
      'editor',
      { apiKeySecretRef: { name: 'mine' }, headers: [...many(6, 'mine'), header('x-last', 'foreign')] },
      naming('foreign'),
    ],
    [
      'more than can be asked for one by one',
      'editor',
      { headers: many(9, 'mine') },
      /names more than 8 Secrets/,
    ],
    [
      'as many, by a reader of all',
      'secretReader',
      { headers: many(32, 'any'), apiKeySecretRef: { name: 'one' } },
    ],
    ['any, by a reader of all', 'secretReader', { apiKeySecretRef: { name: 'foreign' } }],
  ])('%s, created by %s', async (_, who, spec, refused) => {
    expectAnswer(await create(who, home, node(spec)), refused, 201);
  });

  test.each<[what: string, who: Who, name: string, patch: object, refused?: RegExp]>([
    ['the address beside their own', 'editor', 'mine', { spec: { baseURL: 'https://b.example/v1' } }],
    [
      'the address beside another',
      'editor',
      'foreign',
      { spec: { baseURL: 'https://b.example/v1' } },
      naming('foreign'),
    ],
    [
      'the authority beside another',
      'editor',
      'foreign',
      { spec: { tls: { serverName: 'evil.example' } } },
      naming('foreign'),
    ],
    [
      'the headers beside another',
      'editor',
      'foreign',
      { spec: { headers: [{ name: 'x-a', value: 'b' }] } },
      naming('foreign'),
    ],
    [
      'the entry of another',
      'editor',
      'foreign',
      { spec: { apiKeySecretRef: { key: 'other' } } },
      naming('foreign'),
    ],
    [
      'theirs to another',
      'editor',
      'mine',
      { spec: { apiKeySecretRef: { name: 'foreign' } } },
      naming('foreign'),
    ],
    [
      'none to another',
      'editor',
      'plain',
      { spec: { apiKeySecretRef: { name: 'foreign' } } },
      naming('foreign'),
    ],
    ['none to their own', 'editor', 'plain', { spec: { apiKeySecretRef: { name: 'mine' } } }],
    [
      'another to none, and the address',
      'editor',
      'foreign',
      { spec: { apiKeySecretRef: null, baseURL: 'https://b.example/v1' } },
    ],
    ['the weight beside another', 'editor', 'foreign', { spec: { weight: 1, enabled: false } }],
    ['models beside another', 'editor', 'foreign', { spec: { models: [{ name: 'm', enabled: false }] } }],
    ['labels beside another', 'editor', 'foreign', { metadata: { labels: { team: 'a' } } }],
    [
      'the address, by a reader of all',
      'secretReader',
      'foreign',
      { spec: { baseURL: 'https://b.example/v1' } },
    ],
  ])('%s, changed by %s', async (_, who, name, patch, refused) => {
    expectAnswer(await as(who, 'PATCH', resourcePathOf('UpstreamNode', home, name), patch), refused, 200);
  });

  test('deleting a node takes no right on its Secret', async () => {
    expectAnswer(
      await as('editor', 'DELETE', resourcePathOf('UpstreamNode', home, 'foreign')),
      undefined,
      200,
    );
  });
});

/** A key as `/v1/keys` makes it, by the very code. */
async function madeKey(body: object = {}): Promise<ApiKey> {
  let made: ApiKey | undefined;
  const store = { createKey: async (key: ApiKey) => (made = key) } as unknown as Store;
  const master = { resource: { metadata: { namespace: home, name: 'master' } } } as unknown as KeyEntry;
  await createKeysApi({ store, now: Date.now, randomBytes }).create(master, body, AbortSignal.timeout(1_000));
  if (made === undefined) throw new Error('no key was made');
  return made;
}

describe('the gateway creates and deletes only keys of /v1/keys', () => {
  const shape = /may create only keys such as \/v1\/keys makes/;
  const nothingElse = /may create and delete API keys and write its report, and nothing else/;

  test.each<[what: string, change: (key: ApiKey) => object, refused?: RegExp]>([
    ['as it is made', (key) => key],
    [
      'for a Secret',
      ({ spec: { hash, hint, ...spec }, ...key }) => ({ ...key, spec: { ...spec, secretName: 'any' } }),
      shape,
    ],
    ['without the label', (key) => ({ ...key, metadata: { ...key.metadata, labels: {} } }), shape],
    [
      'with a label more',
      (key) => ({ ...key, metadata: { ...key.metadata, labels: { ...key.metadata.labels, a: 'b' } } }),
      shape,
    ],
    ['with another name', (key) => ({ ...key, metadata: { ...key.metadata, name: 'declared-2' } }), shape],
    [
      'with an annotation',
      (key) => ({ ...key, metadata: { ...key.metadata, annotations: { a: 'b' } } }),
      shape,
    ],
    [
      'with a finalizer',
      (key) => ({ ...key, metadata: { ...key.metadata, finalizers: ['a.example/b'] } }),
      shape,
    ],
    [
      'with an owner',
      (key) => ({
        ...key,
        metadata: {
          ...key.metadata,
          ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }],
        },
      }),
      shape,
    ],
    [
      'for nodes of other teams',
      (key) => ({ ...key, spec: { ...key.spec, nodeNamespaces: ['other'] } }),
      shape,
    ],
    ['disabled', (key) => ({ ...key, spec: { ...key.spec, enabled: false } }), shape],
  ])('a key %s', async (_, change, refused) => {
    const key = change(await madeKey({ name: 'Portal', models: ['m'], expires_at: 4_000_000_000 }));
    expectAnswer(await as('gateway', 'POST', resourcePathOf('APIKey', home), key), refused, 201);
    expectAnswer(await as('other', 'POST', resourcePathOf('APIKey', home), key), undefined, 201);
  });

  test('a key may be made with no wishes', async () => {
    expectAnswer(
      await as('gateway', 'POST', resourcePathOf('APIKey', home), await madeKey()),
      undefined,
      201,
    );
  });

  test('a made key may be deleted, a declared one may not', async () => {
    const made = await madeKey();
    await cluster.client.ask('POST', resourcePathOf('APIKey', home), { body: made });
    expectAnswer(
      await as('gateway', 'DELETE', resourcePathOf('APIKey', home, made.metadata.name)),
      undefined,
      200,
    );
    const declared = resourcePathOf('APIKey', home, 'declared');
    expectAnswer(await as('gateway', 'DELETE', declared), /this one was declared/, 200);
    expectAnswer(await as('other', 'DELETE', declared), undefined, 200);
  });

  test('a value lets it delete declared ones, too, and still make none', async () => {
    await resourcesOf(cluster).addKey(sealed, 'declared');
    const path = resourcePathOf('APIKey', sealed);
    expectAnswer(await as('lenientGateway', 'DELETE', `${path}/declared`), undefined, 200);
    const key = await madeKey();
    const declared = { ...key, metadata: { ...key.metadata, namespace: sealed, name: 'other' } };
    expectAnswer(await as('lenientGateway', 'POST', path, declared), shape, 201);
  });

  test('nothing is changed, and no node is touched, whatever a Role grants', async () => {
    const key = resourcePathOf('APIKey', home, 'declared');
    expectAnswer(await as('gateway', 'PATCH', key, { spec: { enabled: false } }), nothingElse, 200);
    expectAnswer(
      await as('gateway', 'POST', resourcePathOf('UpstreamNode', home), node({})),
      nothingElse,
      201,
    );
    expectAnswer(
      await as('gateway', 'DELETE', resourcePathOf('UpstreamNode', home, 'plain')),
      nothingElse,
      200,
    );
  });
});

describe('where credentials must be sealed', () => {
  test.each<[what: string, spec: object, refused?: RegExp]>([
    ['none', {}],
    ['a plain header', { headers: [{ name: 'x-a', value: 'b' }] }],
    [
      'a sealed one',
      { encryptedAPIKey: '-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n-----END AGE ENCRYPTED FILE-----\n' },
    ],
    [
      'one in a Secret',
      { apiKeySecretRef: { name: 'any' } },
      /spec.apiKeySecretRef is not allowed here: seal the credential/,
    ],
    [
      'a header in a Secret',
      { headers: [header('x-a', 'any')] },
      /spec.headers with a secretRef are not allowed here/,
    ],
  ])('%s', async (_, spec, refused) => {
    const path = `${resourcePathOf('UpstreamNode', sealed)}?dryRun=All`;
    expectAnswer(await cluster.client.send('POST', path, { body: node(spec) }), refused, 201);
    // The rule is of one namespace.
    expect(
      (
        await cluster.client.send('POST', `${resourcePathOf('UpstreamNode', home)}?dryRun=All`, {
          body: node(spec),
        })
      ).status,
    ).toBe(201);
  });

  test('nodes from before the rule may be changed, but not to another Secret', async () => {
    const path = `${resourcePathOf('UpstreamNode', sealed, 'before')}?dryRun=All`;
    const change = (spec: object) => cluster.client.send('PATCH', path, { body: { spec } });
    expectAnswer(await change({ weight: 1 }), undefined, 200);
    expectAnswer(await change({ apiKeySecretRef: null }), undefined, 200);
    expectAnswer(await change({ apiKeySecretRef: { name: 'other' } }), /seal the credential/, 200);
    expectAnswer(await change({ headers: [header('x-a', 'any')] }), /secretRef are not allowed here/, 200);
  });
});

describe('there is no way around', () => {
  const foreign = { apiKeySecretRef: { name: 'foreign' } };
  const patches = {
    merge: 'application/merge-patch+json',
    json: 'application/json-patch+json',
    apply: 'application/apply-patch+yaml',
  } as const;
  const at = (name: string, query = '') => `${resourcePathOf('UpstreamNode', home, name)}?dryRun=All${query}`;
  const ask = (
    who: Who,
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    contentType?: string,
  ) => people[who].client.send(method, path, { body, ...(contentType === undefined ? {} : { contentType }) });

  test('for a Secret that its editor may not read: kinds of patches, generated names, a whole object, stages', async () => {
    const spec = { baseURL: 'https://evil.example/v1', ...foreign };
    const refused = [
      await ask('editor', 'PATCH', at('plain'), { spec }, patches.merge),
      await ask(
        'editor',
        'PATCH',
        at('plain'),
        [{ op: 'add', path: '/spec/apiKeySecretRef', value: { name: 'foreign' } }],
        patches.json,
      ),
      await ask(
        'editor',
        'PATCH',
        at('foreign'),
        [{ op: 'replace', path: '/spec/baseURL', value: 'https://evil.example/v1' }],
        patches.json,
      ),
      await ask(
        'editor',
        'PATCH',
        at('plain', '&fieldManager=x&force=true'),
        { ...node(foreign), metadata: { name: 'plain' } },
        patches.apply,
      ),
      // Apply creates what is not there.
      await ask(
        'editor',
        'PATCH',
        at('made', '&fieldManager=x&force=true'),
        { ...node(foreign), metadata: { name: 'made' } },
        patches.apply,
      ),
      await ask('editor', 'POST', `${resourcePathOf('UpstreamNode', home)}?dryRun=All`, {
        ...node(foreign),
        metadata: { generateName: 'made-' },
      }),
      await ask(
        'editor',
        'PATCH',
        at('plain'),
        { spec: { headers: [{ name: 'x-a', secretRef: { name: 'foreign', key: 'k' } }] } },
        patches.merge,
      ),
    ];
    for (const { status, body } of refused)
      expect({ status, body }).toMatchObject({
        status: 403,
        body: { message: expect.stringMatching(naming('foreign')) },
      });
    const current = await cluster.client.ask('GET', resourcePathOf('UpstreamNode', home, 'foreign'));
    const whole = {
      ...(current as object),
      spec: { ...(current as { spec: object }).spec, baseURL: 'https://evil.example/v1' },
    };
    expectAnswer(await ask('editor', 'PUT', at('foreign'), whole), naming('foreign'), 200);
    // For real, in two steps: not even a weight opens the door for the next change.
    const real = resourcePathOf('UpstreamNode', home, 'foreign');
    expect((await people.editor.client.send('PATCH', real, { body: { spec: { weight: 7 } } })).status).toBe(
      200,
    );
    expectAnswer(
      await people.editor.client.send('PATCH', real, {
        body: { spec: { baseURL: 'https://evil.example/v1' } },
      }),
      naming('foreign'),
      200,
    );
  });

  test('by a subresource: status changes no spec, and there is no other', async () => {
    const real = resourcePathOf('UpstreamNode', home, 'foreign');
    const before = (await cluster.client.ask('GET', real)) as { spec: object };
    const nodes = {
      apiGroups: ['modelgateway.dev'],
      resources: ['upstreamnodes', 'upstreamnodes/status', 'upstreamnodes/scale'],
      verbs: ['*'],
    };
    const writer = await account('status-writer', [nodes]);
    const change = {
      spec: { baseURL: 'https://evil.example/v1', apiKeySecretRef: { name: 'foreign' } },
      status: { phase: 'ready' },
    };
    expect((await writer.client.send('PATCH', `${real}/status`, { body: change })).status).toBe(200);
    expect(((await cluster.client.ask('GET', real)) as { spec: object }).spec).toEqual(before.spec);
    expect(
      (await writer.client.send('PATCH', `${real}/scale`, { body: { spec: { replicas: 2 } } })).status,
    ).toBe(404);
  });

  test('for the gateway: no kind of change, no subresource, not all keys at once', async () => {
    const declared = resourcePathOf('APIKey', home, 'declared');
    const keys = resourcePathOf('APIKey', home);
    const made = await madeKey();
    const forged = { ...made, metadata: { ...made.metadata, name: 'forged' } };
    const paths: [
      method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      path: string,
      body: object | undefined,
      contentType?: string,
    ][] = [
      ['PATCH', declared, [{ op: 'add', path: '/spec/nodeNamespaces', value: ['x'] }], patches.json],
      [
        'PATCH',
        `${declared}?fieldManager=x&force=true`,
        {
          apiVersion: forged.apiVersion,
          kind: forged.kind,
          metadata: { name: 'declared' },
          spec: { enabled: false },
        },
        patches.apply,
      ],
      [
        'PATCH',
        `${keys}/forged?fieldManager=x&force=true`,
        { ...forged, metadata: { name: 'forged' } },
        patches.apply,
      ],
      ['PUT', declared, (await cluster.client.ask('GET', declared)) as object],
      ['POST', keys, { ...made, metadata: { ...made.metadata, name: undefined, generateName: 'key-' } }],
      ['POST', keys, forged],
      ['DELETE', keys, undefined],
      ['DELETE', declared, { propagationPolicy: 'Foreground' }],
    ];
    for (const [method, path, body, contentType] of paths) {
      const { status } = await ask('gateway', method, path, body, contentType);
      expect({ method, path, status }).toEqual({ method, path, status: 403 });
    }
    expect((await cluster.client.send('GET', declared)).status).toBe(200);
  });

  test('where credentials must be sealed: by patches, apply and generated names', async () => {
    const path = resourcePathOf('UpstreamNode', sealed);
    const spec = { apiKeySecretRef: { name: 'other' } };
    const asked = [
      await cluster.client.send('POST', `${path}?dryRun=All`, {
        body: { ...node(spec), metadata: { generateName: 'made-' } },
      }),
      await cluster.client.send('PATCH', `${path}/before?dryRun=All`, {
        body: [{ op: 'replace', path: '/spec/apiKeySecretRef/name', value: 'other' }],
        contentType: patches.json,
      }),
      await cluster.client.send('PATCH', `${path}/made?dryRun=All&fieldManager=x`, {
        body: { ...node(spec), metadata: { name: 'made' } },
        contentType: patches.apply,
      }),
    ];
    for (const each of asked) expectAnswer(each, /seal the credential/, 201);
  });
});

describe('what the chart adds to the cluster’s own roles', () => {
  type Verb = 'list' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';
  const writes: readonly Verb[] = ['create', 'update', 'patch', 'delete', 'deletecollection'];
  const resources = ['upstreamnodes', 'apikeys', 'masterkeys'].flatMap((each) => [each, `${each}/status`]);
  const editable = ['upstreamnodes', 'apikeys'];
  resources.push('gatewayreports');
  const may: Readonly<Record<string, (verb: Verb, resource: string) => boolean>> = {
    view: (verb, resource) => verb === 'list' && !resource.includes('/'),
    edit: (verb, resource) =>
      may['view']?.(verb, resource) === true || (verb !== 'list' && editable.includes(resource)),
    admin: (verb, resource) => !resource.includes('/') && (verb === 'list' || resource !== 'gatewayreports'),
  };

  test.each(Object.keys(may))('%s: nodes and keys as the role allows, no status, no Secret', async (role) => {
    const objects = (await render(helm, { namespace: home })) as unknown as {
      kind: string;
      metadata: { labels?: Record<string, string> };
      rules: object[];
    }[];
    const label = `rbac.authorization.k8s.io/aggregate-to-${role}`;
    const rules = objects
      .filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.labels?.[label] === 'true')
      .flatMap((each) => each.rules);
    const { client } = await account(`by-role-${role}`, rules);
    const asked = [
      ...resources.flatMap((resource) =>
        (['list', ...writes] as const).map((verb) => ({ group: 'modelgateway.dev', resource, verb })),
      ),
      ...(['list', ...writes] as const).map((verb) => ({ group: '', resource: 'secrets', verb })),
    ];
    const answers = await Promise.all(
      asked.map(async ({ group, resource: path, verb }) => {
        const [resource = '', subresource = ''] = path.split('/');
        const resourceAttributes = { namespace: home, group, resource, subresource, verb };
        const { body } = await client.send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
          body: { spec: { resourceAttributes } },
        });
        return `${verb} ${path}: ${(body as { status: { allowed: boolean } }).status.allowed}`;
      }),
    );
    expect(answers).toEqual(
      asked.map(
        ({ group, resource, verb }) =>
          `${verb} ${resource}: ${group !== '' && may[role]?.(verb, resource) === true}`,
      ),
    );
  });
});

test('without the policy about Secrets, a person who may change nodes can name any Secret', async () => {
  const another = { apiKeySecretRef: { name: 'foreign' } };
  expect((await create('editor', home, node(another))).status).toBe(403);
  // A policy of either release holds for all nodes of the cluster.
  for (const namespace of [home, sealed]) {
    const bindings = async (secretReaders: boolean) => {
      const values = { admissionPolicies: { secretReaders }, fullnameOverride: 'mg-model-gateway' };
      const objects = await render(helm, { namespace, values, release: 'admission-test' });
      return objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding');
    };
    const left = new Set((await bindings(false)).map(({ metadata }) => metadata.name));
    const gone = (await bindings(true)).filter(({ metadata }) => !left.has(metadata.name));
    expect(gone).toHaveLength(1);
    for (const { kind, metadata } of gone) await cluster.kubectl(['delete', kind, metadata.name]);
  }
  await eventually(
    'it is taken',
    async () => (await create('editor', home, node(another))).status === 201,
    30_000,
  );
});

function expectAnswer(
  { status, body }: { status: number; body: unknown },
  refused: RegExp | undefined,
  good: number,
) {
  const { message = '' } = body as { message?: string };
  expect([status, message]).toEqual(
    refused === undefined ? [good, ''] : [403, expect.stringMatching(refused)],
  );
}
