import { afterEach, expect, test } from 'vitest';
import { generateKeyText, hashKeyText, keyHint } from '../../../src/resources/key-text.ts';
import { type Secret, secretValue } from '../../../src/resources/secret.ts';
import { StoreError } from '../../../src/store/store.ts';
import { fakeClock } from './fake-clock.ts';
import { conditionsText, endings, settle, start, until } from './harness.ts';
import { type MemoryStore, memoryStore, type Write } from './memory-store.ts';
import { apiKeyOf, masterKeyOf, nodeOf, secretOf } from './resources.ts';

const ends = endings();
afterEach(ends.endAll);

const keyStatus = (memory: MemoryStore, name = 'k') => memory.store.get('APIKey', 'home', name)?.status;
const reasonOf = (memory: MemoryStore, name = 'k') => keyStatus(memory, name)?.conditions?.[0]?.reason;
const secretIn = (memory: MemoryStore, name = 's') => memory.secrets.get(`home/${name}`);
const text = (secret: Secret | undefined) =>
  secret === undefined ? '' : (secretValue(secret, 'apiKey') ?? '');
const hashes = (memory: MemoryStore) => (keyStatus(memory)?.hashes ?? []).map(({ hash }) => hash);

test('a key is issued into a Secret that an application can take as it is', async () => {
  const memory = memoryStore();
  memory.apply(
    apiKeyOf('k', { secretName: 's', secretTemplate: { labels: { team: 'a' }, annotations: { note: 'b' } } }),
  );
  start(ends, memory);
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  const secret = secretIn(memory);
  const key = text(secret);
  expect(key).toMatch(/^mgk_[0-9A-Za-z]{49}$/);
  const entries = Object.keys(secret?.data ?? {}).map((name) => [name, secret && secretValue(secret, name)]);
  expect(Object.fromEntries(entries)).toEqual({
    apiKey: key,
    OPENAI_API_KEY: key,
    baseURL: 'http://gateway.test/v1',
    OPENAI_BASE_URL: 'http://gateway.test/v1',
  });
  expect(secret?.type).toBe('Opaque');
  expect(secret?.metadata).toMatchObject({
    labels: { team: 'a', 'app.kubernetes.io/managed-by': 'model-gateway' },
    annotations: { note: 'b', 'modelgateway.dev/key-revision': '0' },
    ownerReferences: [
      {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'APIKey',
        name: 'k',
        uid: memory.store.get('APIKey', 'home', 'k')?.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  });
  expect(keyStatus(memory)).toMatchObject({
    observedGeneration: 1,
    hashes: [{ hash: hashKeyText(key), hint: keyHint(key), revision: 0, createdTime: expect.any(String) }],
  });
  expect(conditionsText(keyStatus(memory)?.conditions)).toEqual([
    'Ready=True KeyIssued',
    'ModelsResolved=True AllModelsAllowed',
  ]);
  expect(memory.store.key(hashKeyText(key))?.resource.metadata.name).toBe('k');
  expect(JSON.stringify([keyStatus(memory), memory.events])).not.toContain(key);
  await settle();
  expect(memory.writes.filter(({ name }) => name === 'k' || name === 's')).toHaveLength(2);
});

test('a master key is issued the same way, with its own prefix', async () => {
  const memory = memoryStore();
  memory.apply(masterKeyOf('k', { secretName: 's' }));
  start(ends, memory);
  await until(() => memory.store.get('MasterKey', 'home', 'k')?.status !== undefined, 'issued');
  expect(text(secretIn(memory))).toMatch(/^mgm_[0-9A-Za-z]{49}$/);
  const conditions = memory.store.get('MasterKey', 'home', 'k')?.status?.conditions;
  expect(conditionsText(conditions)).toEqual(['Ready=True KeyIssued']);
});

test('a Secret of somebody else is left alone, and filled once it is gone', async () => {
  const memory = memoryStore();
  memory.putSecret(secretOf('s', { apiKey: 'theirs' }));
  memory.apply(apiKeyOf('k', { secretName: 's' }));
  start(ends, memory);
  await until(() => reasonOf(memory) === 'SecretConflict', 'conflict');
  expect(conditionsText(keyStatus(memory)?.conditions)).toContain('Stalled=True SecretConflict');
  expect(text(secretIn(memory))).toBe('theirs');
  expect(hashes(memory)).toEqual([]);
  memory.deleteSecret('home', 's');
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
});

test('raising the revision issues another key and keeps the former for the overlap', async () => {
  const memory = memoryStore();
  memory.apply(apiKeyOf('k', { secretName: 's' }));
  start(ends, memory);
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  const [old] = hashes(memory);
  memory.apply(apiKeyOf('k', { secretName: 's', rotation: { revision: 1, overlapSeconds: 60 } }));
  await until(() => reasonOf(memory) === 'RotationOverlap', 'rotated');
  const now = hashKeyText(text(secretIn(memory)));
  expect(hashes(memory)).toEqual([now, old]);
  const [head, former] = keyStatus(memory)?.hashes ?? [];
  expect(head).toMatchObject({ revision: 1 });
  expect(head?.expirationTime).toBeUndefined();
  const overlap = Date.parse(former?.expirationTime ?? '') - Date.parse(head?.createdTime ?? '');
  // A second more, because createdTime is rounded down.
  expect(overlap).toBe(61_000);

  // Shortening the overlap ends the former key: the way to do away with one that leaked.
  memory.apply(apiKeyOf('k', { secretName: 's', rotation: { revision: 1, overlapSeconds: 0 } }));
  await until(() => reasonOf(memory) === 'KeyIssued', 'overlap over');
  expect(hashes(memory)).toEqual([now]);
  expect(memory.store.key(old ?? '')).toBeUndefined();
  expect(memory.events.map(({ reason }) => reason)).toEqual(['KeyIssued', 'KeyRotated']);
});

test('deleting the Secret revokes its key and every former one before another is issued', async () => {
  const memory = memoryStore();
  memory.apply(apiKeyOf('k', { secretName: 's', rotation: { revision: 1 } }));
  start(ends, memory);
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  memory.apply(apiKeyOf('k', { secretName: 's', rotation: { revision: 2, overlapSeconds: 600 } }));
  await until(() => reasonOf(memory) === 'RotationOverlap', 'rotated');
  const old = hashes(memory);
  expect(old).toHaveLength(2);
  const seen: string[][] = [];
  memory.before = ({ what }: Write) => {
    if (what === 'create') seen.push(hashes(memory));
  };
  const count = () => memory.writes.filter(({ what, name }) => what === 'status' && name === 'k').length;
  const before = count();
  memory.deleteSecret('home', 's');
  await until(() => reasonOf(memory) === 'KeyIssued' && secretIn(memory) !== undefined, 'issued again');
  // The former hashes go, the new one comes: neither is refused for its version.
  expect(count() - before).toBe(2);
  expect(seen).toEqual([[]]);
  expect(hashes(memory)).toEqual([hashKeyText(text(secretIn(memory)))]);
  expect(old).not.toContain(hashes(memory)[0]);
  expect(memory.events.at(-1)?.reason).toBe('SecretReissued');
});

test.each([
  ['after the first Secret', 'KeyIssued', undefined],
  ['after the Secret of a rotation', 'RotationOverlap', { revision: 1, overlapSeconds: 60 }],
])('a crash %s loses no key: the one in the Secret is taken over', async (_, reason, rotation) => {
  const memory = memoryStore();
  memory.apply(apiKeyOf('k', { secretName: 's' }));
  if (rotation !== undefined) {
    const before = start(ends, memory);
    await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
    await before.stop();
    memory.apply(apiKeyOf('k', { secretName: 's', rotation }));
  }
  let crashed = false;
  memory.before = ({ what, name }) => {
    if ((what === 'create' || what === 'replace') && name === 's') crashed = true;
    if (what === 'status' && name === 'k' && crashed) throw new Error('crash');
  };
  const dying = start(ends, memory);
  await until(() => crashed, 'the crash');
  await settle();
  await dying.stop();
  const [key, old] = [text(secretIn(memory)), hashes(memory)];
  expect(old).not.toContain(hashKeyText(key));

  memory.before = () => {};
  start(ends, memory);
  await until(() => reasonOf(memory) === reason, 'taken over');
  expect(text(secretIn(memory))).toBe(key);
  expect(hashes(memory)).toEqual([hashKeyText(key), ...old]);
});

const edit = (memory: MemoryStore, value: string) => {
  const secret = secretIn(memory);
  if (secret === undefined) throw new Error('no Secret');
  memory.putSecret({ ...secret, data: { ...secret.data, apiKey: Buffer.from(value).toString('base64') } });
};

test('a generated key put into the Secret by hand becomes the key, and the former one ends', async () => {
  const memory = memoryStore();
  memory.apply(apiKeyOf('k', { secretName: 's' }));
  start(ends, memory);
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  const restored = generateKeyText('api', (size) => Buffer.alloc(size, 7));
  edit(memory, restored);
  await until(() => hashes(memory)[0] === hashKeyText(restored), 'taken over');
  expect(hashes(memory)).toHaveLength(1);
  expect(secretValue(secretIn(memory) as Secret, 'OPENAI_API_KEY')).toBe(restored);
});

test.each([
  'hunter2',
  'an-own-text-of-more-than-24-characters',
  generateKeyText('master', (size) => Buffer.alloc(size, 7)),
])('any other text in the Secret is replaced by a new key: %s', async (value) => {
  const memory = memoryStore();
  memory.apply(apiKeyOf('k', { secretName: 's' }));
  start(ends, memory);
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  const [old] = hashes(memory);
  edit(memory, value);
  await until(() => hashes(memory)[0] !== old, 'reissued');
  expect(hashes(memory)).toEqual([hashKeyText(text(secretIn(memory)))]);
  expect(text(secretIn(memory))).toMatch(/^mgk_/);
});

test('another gateway URL is written into the Secret; the key and what others put there stay', async () => {
  const memory = memoryStore();
  memory.apply(apiKeyOf('k', { secretName: 's' }));
  const before = start(ends, memory);
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  await before.stop();
  const key = text(secretIn(memory));
  const secret = secretIn(memory) as Secret;
  memory.putSecret({ ...secret, data: { ...secret.data, extra: 'eA==' } });
  start(ends, memory, { gatewayURL: 'https://new.test/v1' });
  await until(
    () => secretValue(secretIn(memory) as Secret, 'baseURL') === 'https://new.test/v1',
    'refreshed',
  );
  expect(text(secretIn(memory))).toBe(key);
  expect(secretIn(memory)?.data['extra']).toBe('eA==');
});

test('a Secret that may not be written shows in the condition, and revokes nothing', async () => {
  const memory = memoryStore();
  memory.apply(apiKeyOf('k', { secretName: 's' }));
  const deny = ({ what, name }: Write) => {
    if (name === 's' && what !== 'status')
      throw new StoreError('Forbidden', 'the role lacks create on Secrets');
  };
  memory.before = deny;
  const denied = start(ends, memory);
  await until(() => reasonOf(memory) === 'Failed', 'failed');
  expect(conditionsText(keyStatus(memory)?.conditions)).toContain('Stalled=True Failed');
  await denied.stop();
  memory.before = () => {};
  const allowed = start(ends, memory);
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  await allowed.stop();
  const issued = hashes(memory);
  memory.before = deny;
  memory.apply(apiKeyOf('k', { secretName: 's', rotation: { revision: 1 } }));
  start(ends, memory);
  await until(() => reasonOf(memory) === 'Failed', 'failed again');
  expect(hashes(memory)).toEqual(issued);
});

const hash = hashKeyText('a-key-of-more-than-24-characters');

test('a hash belongs to the oldest; when it goes, the next one has it', async () => {
  const memory = memoryStore();
  memory.apply(apiKeyOf('k', { hash, hint: 'mine' }, { creationTimestamp: '2026-02-01T00:00:00Z' }));
  memory.apply(apiKeyOf('old', { hash }, { creationTimestamp: '2026-01-01T00:00:00Z' }));
  start(ends, memory);
  await until(
    () => reasonOf(memory) === 'HashConflict' && reasonOf(memory, 'old') === 'KeyAccepted',
    'conflict',
  );
  expect(hashes(memory)).toEqual([]);
  expect(keyStatus(memory)?.conditions?.[0]?.message).toMatch(/^The older APIKey "old" claims the same hash/);
  memory.remove('APIKey', 'home', 'old');
  await until(() => reasonOf(memory) === 'KeyAccepted', 'accepted');
  expect(keyStatus(memory)?.hashes).toEqual([{ hash, hint: 'mine' }]);
});

test('expiry, switching off and an allowlist show in the conditions', async () => {
  const memory = memoryStore();
  memory.apply(
    apiKeyOf('k', { hash, expirationTime: new Date(Date.now() + 300).toISOString(), models: ['m', 'x'] }),
  );
  memory.apply(apiKeyOf('off', { hash: hashKeyText('other'), enabled: false }));
  start(ends, memory);
  await until(() => reasonOf(memory) === 'KeyAccepted', 'accepted');
  expect(conditionsText(keyStatus(memory, 'off')?.conditions)[0]).toBe('Ready=True Disabled');
  const resolved = () => keyStatus(memory)?.conditions?.find(({ type }) => type === 'ModelsResolved');
  expect(resolved()?.message).toContain('serves "m", "x".');
  memory.apply(nodeOf('n', { manualModels: ['m'], models: [{ name: 'm', aliases: ['x'] }] }));
  await until(() => resolved()?.status === 'True', 'models there');
  await until(() => reasonOf(memory) === 'Expired', 'expired');
  expect(conditionsText(keyStatus(memory)?.conditions)).toContain('Stalled=True Expired');
});

test('the sealing pair is made once; one that is there is kept, and its newest half published', async () => {
  const memory = memoryStore();
  const first = start(ends, memory);
  await until(() => memory.writes.some(({ what }) => what === 'publish'), 'published');
  await first.stop();
  const secret = memory.secrets.get('home/model-gateway-sealing');
  expect(Buffer.from(secret?.data['identities'] ?? '', 'base64').toString()).toMatch(
    /^AGE-SECRET-KEY-1\S+\n$/,
  );
  const [published] = memory.writes.filter(({ what }) => what === 'publish');
  start(ends, memory);
  await until(() => memory.writes.filter(({ what }) => what === 'publish').length === 2, 'published again');
  expect(memory.writes.at(-1)?.name).toBe(published?.name);
  expect(memory.writes.filter(({ what }) => what === 'create')).toHaveLength(1);
  expect(memory.secrets.get('home/model-gateway-sealing')).toBe(secret);
});

test('a sealing Secret without an identity is left alone until somebody mends it', async () => {
  const memory = memoryStore();
  memory.putSecret(secretOf('model-gateway-sealing', { identities: '# lost' }));
  const { registry } = start(ends, memory);
  await settle();
  expect(memory.writes).toEqual([]);
  const metrics = await registry.metrics();
  expect(metrics).toMatch(/controller_runtime_terminal_reconcile_errors_total\{controller="sealing"\} [1-9]/);
  memory.deleteSecret('home', 'model-gateway-sealing');
  await until(() => memory.writes.some(({ what }) => what === 'publish'), 'made anew');
});

const dayMs = 86_400_000;

test('a key is rotated on a schedule, as often as it says, and a raised revision still counts', async () => {
  const clock = fakeClock();
  const memory = memoryStore(clock.now);
  const rotation = { every: 30, overlapSeconds: 3_600 };
  memory.apply(apiKeyOf('k', { secretName: 's', rotation }));
  start(ends, memory, { clock });
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  const seen = [text(secretIn(memory))];
  expect(keyStatus(memory)?.nextRotationTime).toBe('2027-01-31T00:00:00Z');
  for (const revision of [1, 2]) {
    await clock.advance(Date.parse(keyStatus(memory)?.nextRotationTime ?? '') - clock.now() - 1_000);
    await settle();
    expect(text(secretIn(memory))).toBe(seen[0]);
    await clock.advance(1_000);
    await until(() => reasonOf(memory) === 'RotationOverlap', 'rotated');
    seen.unshift(text(secretIn(memory)));
    expect(keyStatus(memory)?.hashes?.map((each) => [each.hash, each.revision])).toEqual([
      [hashKeyText(seen[0] ?? ''), revision],
      [hashKeyText(seen[1] ?? ''), revision - 1],
    ]);
    await clock.advance(2 * 3_600_000);
    await until(() => reasonOf(memory) === 'KeyIssued', 'the overlap is over');
  }
  expect(new Set(seen).size).toBe(3);
  memory.apply(apiKeyOf('k', { secretName: 's', rotation: { ...rotation, revision: 1 } }));
  await until(() => text(secretIn(memory)) !== seen[0], 'the revision was raised');
  await until(() => keyStatus(memory)?.hashes?.[0]?.revision === 3, 'counted');
  memory.apply(apiKeyOf('k', { secretName: 's', enabled: false, rotation: { ...rotation, revision: 1 } }));
  await until(() => reasonOf(memory) === 'Disabled', 'disabled');
  expect(keyStatus(memory)?.nextRotationTime).toBeUndefined();
});

test.each([
  ['after it', 31, '2027-01-31T00:00:00Z'],
  ['before it', 29, undefined],
])('no rotation is announced for a key that expires before it: %s', async (_, days, next) => {
  const clock = fakeClock();
  const memory = memoryStore(clock.now);
  const expirationTime = new Date(clock.now() + days * dayMs).toISOString();
  memory.apply(apiKeyOf('k', { secretName: 's', expirationTime, rotation: { every: 30 } }));
  start(ends, memory, { clock });
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  expect(keyStatus(memory)?.nextRotationTime).toBe(next);
});

test('a crash after a scheduled rotation rotates only once', async () => {
  const clock = fakeClock();
  const memory = memoryStore(clock.now);
  memory.apply(apiKeyOf('k', { secretName: 's', rotation: { every: 1 } }));
  const dying = start(ends, memory, { clock });
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  const old = text(secretIn(memory));
  memory.before = ({ what, name }) => {
    if (what === 'status' && name === 'k') throw new Error('crash');
  };
  await clock.advance(dayMs);
  await until(() => text(secretIn(memory)) !== old, 'rotated');
  await dying.stop();
  const next = text(secretIn(memory));
  memory.before = () => {};
  start(ends, memory, { clock });
  await until(() => reasonOf(memory) === 'RotationOverlap', 'taken over');
  expect(text(secretIn(memory))).toBe(next);
  expect(hashes(memory)).toEqual([hashKeyText(next), hashKeyText(old)]);
});

test('a time of issue from the future is taken for now', async () => {
  const clock = fakeClock();
  const memory = memoryStore(clock.now);
  memory.apply(apiKeyOf('k', { secretName: 's', rotation: { every: 1 } }));
  const ahead = start(ends, memory, { clock: { ...clock, now: () => clock.now() + 400 * dayMs } });
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  await ahead.stop();
  start(ends, memory, { clock });
  await until(() => keyStatus(memory)?.nextRotationTime === '2027-01-02T00:00:00Z', 'rotated a day from now');
});

test.each([
  ['seven days before it expires', 30, 23, 'ExpiresSoon'],
  ['not before that', 30, 22, 'KeyIssued'],
  ['not at all where it lives no longer', 7, 6, 'KeyIssued'],
])('people are warned of a key %s', async (_, lives, days, reason) => {
  const clock = fakeClock();
  const memory = memoryStore(clock.now);
  const expirationTime = new Date(clock.now() + lives * dayMs).toISOString();
  memory.apply(apiKeyOf('k', { secretName: 's', expirationTime }));
  start(ends, memory, { clock });
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  for (let day = 0; day < days; day += 1) await clock.advance(dayMs);
  await settle();
  expect(conditionsText(keyStatus(memory)?.conditions)[0]).toBe(`Ready=True ${reason}`);
  const warnings = memory.events.filter(({ type }) => type === 'Warning').map((event) => event.reason);
  expect(warnings).toEqual(reason === 'ExpiresSoon' ? ['ExpiresSoon'] : []);
});

test('a key by hash whose status was refused once is told nothing of a Secret', async () => {
  const memory = memoryStore();
  let refusals = 0;
  memory.before = ({ what }) => {
    refusals += what === 'status' ? 1 : 0;
    if (what === 'status' && refusals === 1) throw new StoreError('Forbidden', 'refused');
  };
  memory.apply(apiKeyOf('k', { hash: hashKeyText('x'.repeat(30)) }));
  start(ends, memory);
  await until(() => refusals > 1 && keyStatus(memory) !== undefined, 'written');
  expect(conditionsText(keyStatus(memory)?.conditions)[0]).toBe('Ready=True KeyAccepted');
  expect(memory.events).toEqual([]);
});

test('a Secret is read again only if it, its key or the time of a rotation asks for it', async () => {
  const clock = fakeClock();
  const memory = memoryStore(clock.now);
  const rotation = { every: 30 };
  memory.apply(apiKeyOf('k', { secretName: 's', models: ['m'], rotation }));
  start(ends, memory, { clock });
  await until(() => reasonOf(memory) === 'KeyIssued', 'issued');
  await settle();
  const resolved = () => keyStatus(memory)?.conditions?.find(({ type }) => type === 'ModelsResolved')?.status;
  const reads = () => memory.reads.filter((name) => name === 's').length;
  const before = reads();
  for (const status of ['True', 'False', 'True']) {
    memory.apply(nodeOf('n', { manualModels: status === 'True' ? ['m'] : ['other'] }));
    await until(() => resolved() === status, status);
  }
  expect(reads()).toBe(before);
  memory.apply(apiKeyOf('k', { secretName: 's', models: ['m'], rotation, enabled: false }));
  await until(() => reasonOf(memory) === 'Disabled', 'disabled');
  expect(reads()).toBeGreaterThan(before);
  memory.apply(apiKeyOf('k', { secretName: 's', models: ['m'], rotation }));
  await until(() => reasonOf(memory) === 'KeyIssued', 'enabled');
  const old = text(secretIn(memory));
  memory.remove('UpstreamNode', 'home', 'n');
  await clock.advance(30 * dayMs);
  await until(() => text(secretIn(memory)) !== old, 'rotated');
  const rotated = text(secretIn(memory));
  memory.deleteSecret('home', 's');
  await until(() => secretIn(memory) !== undefined && text(secretIn(memory)) !== rotated, 'issued again');
});
