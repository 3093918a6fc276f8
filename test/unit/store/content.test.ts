import { describe, expect, test } from 'vitest';
import { createLog } from '../../../src/observe/log.ts';
import { generateSealingIdentity, sealApiKey, sealingRecipient } from '../../../src/resources/sealed-key.ts';
import { Content } from '../../../src/store/content.ts';
import { openSealed } from '../../../src/store/open-sealed.ts';
import type { Change } from '../../../src/store/store.ts';
import { hashOf, makeKey, makeNode, makeSecret } from './make.ts';

function setUp(wantSecret?: (namespace: string, name: string, wanted: boolean) => void) {
  const lines: string[] = [];
  const log = createLog({
    level: 'debug',
    format: 'json',
    role: 'test',
    destination: { write: (line) => void lines.push(line) },
  });
  const content = new Content({
    log,
    sealingNamespace: 'default',
    openSealed,
    ...(wantSecret && { wantSecret }),
  });
  const heard: string[] = [];
  content.subscribe((change: Change) => {
    heard.push('name' in change ? `${change.kind} ${change.name}` : change.kind);
  });
  return { content, heard, lines };
}

const credentialsOf = (content: Content, name = 'node') => content.node('default', name)?.credentials;
const connectionOf = (content: Content) => {
  const credentials = credentialsOf(content);
  return credentials?.state === 'Resolved' ? credentials.connection : undefined;
};

describe('resources', () => {
  test('are seen by name, kind and namespace', () => {
    const { content } = setUp();
    content.set(makeNode({}, undefined, { name: 'a' }));
    content.set(makeNode({}, undefined, { name: 'b', namespace: 'team' }));
    expect([...content.list('UpstreamNode')].map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect([...content.list('UpstreamNode', 'team')].map(({ metadata }) => metadata.name)).toEqual(['b']);
    expect([...content.list('APIKey')]).toEqual([]);
    content.remove('UpstreamNode', 'team', 'b');
    expect(content.get('UpstreamNode', 'team', 'b')).toBeUndefined();
    expect(content.node('team', 'b')).toBeUndefined();
  });

  test('a full list tells only of what differs', () => {
    const { content, heard } = setUp();
    const key = (name: string, resourceVersion: string) =>
      makeKey({ hash: hashOf(1) }, { name, uid: name, resourceVersion });
    content.replaceAll('APIKey', [key('a', '1'), key('b', '1'), key('c', '1')]);
    heard.length = 0;
    content.replaceAll('APIKey', [key('a', '1'), key('b', '2'), key('d', '1')]);
    expect(heard).toEqual(['APIKey b', 'APIKey d', 'APIKey c']);
    expect([...content.list('APIKey')].map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'd']);
  });

  test('a listener that throws is logged and stays; the others hear', () => {
    const { content, heard, lines } = setUp();
    let calls = 0;
    content.subscribe(() => {
      calls += 1;
      throw new Error('broken');
    });
    content.set(makeNode());
    content.remove('UpstreamNode', 'default', 'node');
    expect([calls, heard.length]).toEqual([2, 2]);
    expect(lines.join()).toContain('broken');
  });

  test('a listener that changes the content does not disturb the order of others', () => {
    const { content } = setUp();
    const order: string[] = [];
    content.subscribe((change) => {
      if (change.kind === 'UpstreamNode') content.set(makeKey({ hash: hashOf(1) }));
    });
    content.subscribe(({ kind }) => order.push(kind));
    content.set(makeNode());
    expect(order).toEqual(['UpstreamNode', 'APIKey']);
  });

  test('waits to be synced until told so', async () => {
    const { content } = setUp();
    await expect(content.whenSynced(AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    const waiting = content.whenSynced(new AbortController().signal);
    expect(content.synced).toBe(false);
    content.markSynced();
    await waiting;
    expect(content.synced).toBe(true);
  });
});

describe('credentials', () => {
  const byRef = (spec: object = {}) => makeNode({ apiKeySecretRef: { name: 's' }, ...spec });

  test('none named: resolved with none', () => {
    const { content } = setUp();
    content.set(makeNode());
    expect(credentialsOf(content)).toMatchObject({ state: 'Resolved', apiKeySet: false });
    expect(connectionOf(content)).not.toHaveProperty('credential');
  });

  test('a Secret that may not be read: refused with what to grant, but what was read stays', () => {
    const { content, heard } = setUp();
    content.set(byRef());
    content.forbidSecret('default', 's');
    expect(credentialsOf(content)).toMatchObject({
      state: 'Refused',
      reason: 'SecretForbidden',
      message: expect.stringMatching(/spec\.apiKeySecretRef.*"s".*"get".*namespace "default"/),
    });
    expect(heard).toContain('Credentials node');
    content.setSecret(makeSecret('s', { apiKey: 'sk-1' }));
    content.forbidSecret('default', 's');
    expect(connectionOf(content)).toMatchObject({ credential: 'sk-1' });
    content.removeSecret('default', 's');
    content.forbidSecret('default', 's');
    expect(credentialsOf(content)).toMatchObject({ reason: 'SecretForbidden' });
  });

  test('pending until the Secret is known, then as it stands', () => {
    const { content, heard } = setUp();
    content.set(byRef());
    expect(credentialsOf(content)).toEqual({ state: 'Pending' });
    content.removeSecret('default', 's');
    expect(credentialsOf(content)).toMatchObject({ state: 'Refused', reason: 'SecretNotFound' });
    content.setSecret(makeSecret('s', { other: 'x' }));
    expect(credentialsOf(content)).toMatchObject({ state: 'Refused', reason: 'SecretKeyMissing' });
    heard.length = 0;
    content.setSecret(makeSecret('s', { apiKey: 'sk-1\n' }, { resourceVersion: '7' }));
    expect(credentialsOf(content)).toMatchObject({
      state: 'Resolved',
      apiKeySet: true,
      secretResourceVersion: '7',
    });
    expect(connectionOf(content)?.credential).toBe('sk-1');
    expect(heard).toEqual(['Credentials node', 'Secret s']);
  });

  test.each(['sk\n1', 'sk\u0000', 'sk 1', 'sché', 'x'.repeat(8_193)])(
    'refuses a value that no header carries: %j',
    (apiKey) => {
      const { content } = setUp();
      content.set(byRef());
      content.setSecret(makeSecret('s', { apiKey }));
      const credentials = credentialsOf(content);
      expect(credentials).toMatchObject({ state: 'Refused', reason: 'CredentialInvalid' });
      expect(JSON.stringify(credentials)).not.toContain(apiKey);
    },
  );

  test('headers from Secrets and plain ones', () => {
    const { content } = setUp();
    content.set(
      makeNode({
        headers: [
          { name: 'x-a', value: '1' },
          { name: 'x-b', secretRef: { name: 't', key: 'b' } },
        ],
      }),
    );
    expect(credentialsOf(content)?.state).toBe('Pending');
    content.setSecret(makeSecret('t', { b: 'two words' }));
    expect(connectionOf(content)?.headers).toEqual([
      { name: 'x-a', value: '1' },
      { name: 'x-b', value: 'two words' },
    ]);
  });

  test('the connection keeps its identity while nothing in it changed', () => {
    const { content } = setUp();
    content.set(byRef());
    content.setSecret(makeSecret('s', { apiKey: 'sk-1' }, { resourceVersion: '1' }));
    const connection = connectionOf(content);
    content.set(byRef({ weight: 3 }));
    content.setSecret(makeSecret('s', { apiKey: 'sk-1', other: 'x' }, { resourceVersion: '2' }));
    expect(connectionOf(content)).toBe(connection);
    content.setSecret(makeSecret('s', { apiKey: 'sk-2' }, { resourceVersion: '3' }));
    expect(connectionOf(content)).not.toBe(connection);
  });

  test('asks for a Secret once, for the first node that names it, until the last is gone', () => {
    const asked: string[] = [];
    const { content } = setUp((_, name, wanted) => asked.push(`${wanted ? '+' : '-'}${name}`));
    content.set(makeNode({ apiKeySecretRef: { name: 's' } }, undefined, { name: 'a' }));
    content.set(makeNode({ apiKeySecretRef: { name: 's' } }, undefined, { name: 'b' }));
    content.remove('UpstreamNode', 'default', 'a');
    content.set(makeNode({ apiKeySecretRef: { name: 't' } }, undefined, { name: 'b' }));
    expect(asked).toEqual(['+s', '+t', '-s']);
  });

  test('a Secret of another namespace is not taken', () => {
    const { content } = setUp();
    content.set(byRef());
    content.setSecret(makeSecret('s', { apiKey: 'sk-1' }, { namespace: 'other' }));
    expect(credentialsOf(content)).toEqual({ state: 'Pending' });
  });

  test('a changed Secret touches only the nodes that name it', () => {
    const { content, heard } = setUp();
    for (const name of ['a', 'b']) {
      content.set(
        makeNode({ apiKeySecretRef: { name: `s-${name}` }, manualModels: ['m'] }, undefined, { name }),
      );
    }
    const other = content.node('default', 'b');
    heard.length = 0;
    content.setSecret(makeSecret('s-a', { apiKey: 'sk-1' }));
    expect(heard).toEqual(['Credentials a', 'Secret s-a']);
    expect(content.node('default', 'b')).toBe(other);
    expect(
      content
        .served('m')
        ?.candidates.map(({ node }) => node.credentials.state)
        .sort(),
    ).toEqual(['Pending', 'Resolved']);
  });
});

describe('sealed credentials', () => {
  async function seal(name = 'node', baseURL = 'http://127.0.0.1:1/v1') {
    const identity = await generateSealingIdentity();
    const recipient = await sealingRecipient(identity);
    const encryptedAPIKey = await sealApiKey({
      recipient,
      namespace: 'default',
      name,
      baseURL,
      apiKey: 'sk-sealed',
    });
    return { identity, encryptedAPIKey };
  }

  test('open when the identities arrive, with a change told', async () => {
    const { content, heard } = setUp();
    const { identity, encryptedAPIKey } = await seal();
    content.set(makeNode({ encryptedAPIKey }));
    await content.credentialsSettled();
    expect(credentialsOf(content)).toEqual({ state: 'Pending' });
    const newest = await generateSealingIdentity();
    content.setSecret(
      makeSecret('model-gateway-sealing', { identities: `# old\n${identity}\n# new\n${newest}\n` }),
    );
    expect(content.sealingIdentities()).toEqual([newest, identity]);
    heard.length = 0;
    await content.credentialsSettled();
    expect(connectionOf(content)?.credential).toBe('sk-sealed');
    expect(heard).toEqual(['Credentials node']);
  });

  test('are refused for another node or origin, and never sent there', async () => {
    const { content } = setUp();
    const { identity, encryptedAPIKey } = await seal();
    content.setSealingIdentities([identity]);
    content.set(makeNode({ encryptedAPIKey }));
    await content.credentialsSettled();
    expect(credentialsOf(content)?.state).toBe('Resolved');
    content.set(makeNode({ encryptedAPIKey, baseURL: 'http://127.0.0.1:2/v1' }));
    expect(credentialsOf(content)?.state).toBe('Pending');
    await content.credentialsSettled();
    expect(credentialsOf(content)).toMatchObject({ state: 'Refused', reason: 'SealedKeyRefused' });
  });

  test('say when no identity opens them, or there is none', async () => {
    const { content } = setUp();
    const { encryptedAPIKey } = await seal();
    content.set(makeNode({ encryptedAPIKey }));
    content.removeSecret('default', 'model-gateway-sealing');
    await content.credentialsSettled();
    expect(credentialsOf(content)).toMatchObject({ state: 'Refused', reason: 'SealingKeyMissing' });
    content.setSealingIdentities([await generateSealingIdentity()]);
    await content.credentialsSettled();
    expect(credentialsOf(content)).toMatchObject({ state: 'Refused', reason: 'SealedKeyUnreadable' });
  });
});

describe('the cost of one change', () => {
  function costMs(others: number): number {
    const { content } = setUp();
    for (let i = 0; i < others; i += 1) {
      content.set(makeKey({ hash: hashOf(i) }, { name: `key-${i}`, namespace: `team-${i % 50}` }));
      content.set(
        makeNode({ manualModels: [`model-${i}`, `shared-${i % 100}`] }, undefined, { name: `node-${i}` }),
      );
    }
    const keys = [true, false].map((enabled) =>
      makeKey({ hash: hashOf(5), enabled }, { name: 'key-5', namespace: 'team-5' }),
    );
    const nodes = [1, 2].map((weight) =>
      makeNode({ manualModels: ['model-5', 'shared-5'], weight }, undefined, { name: 'node-5' }),
    );
    let best = Infinity;
    for (let round = 0; round < 40; round += 1) {
      const start = performance.now();
      for (let i = 0; i < 50; i += 1) {
        for (const key of keys) content.set(key);
        for (const node of nodes) content.set(node);
        content.key(hashOf(5));
        content.served('model-5');
      }
      best = Math.min(best, performance.now() - start);
    }
    return best;
  }

  test('does not grow with the number of the others', () => {
    const [few, many] = [costMs(10), costMs(10_000)];
    // A cost that grew with the number would be a thousand times as high.
    expect(many / few).toBeLessThan(10);
  });
});

test('a listener that fails is reported, and keeps no other one from a change', () => {
  const faults: unknown[] = [];
  const fault = new Error('no');
  const heard: Change[] = [];
  const log = createLog({ level: 'error', format: 'json', role: 'test', destination: { write: () => {} } });
  const content = new Content({
    log,
    internalErrors: (...report) => void faults.push(report),
    sealingNamespace: 'default',
    openSealed,
  });
  content.subscribe(() => {
    throw fault;
  });
  content.subscribe((change) => heard.push(change));
  content.set(makeNode({}, undefined, { name: 'a' }));
  expect(heard).not.toHaveLength(0);
  expect(faults).toEqual(heard.map(() => ['change', fault]));
});
