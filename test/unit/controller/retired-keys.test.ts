import { afterEach, beforeEach, expect, test } from 'vitest';
import { generateKeyText, hashKeyText } from '../../../src/resources/key-text.ts';
import { type Secret, secretValue } from '../../../src/resources/secret.ts';
import { fakeClock } from './fake-clock.ts';
import { conditionsText, endings, settle, start, until } from './harness.ts';
import { type MemoryStore, memoryStore } from './memory-store.ts';
import { apiKeyOf } from './resources.ts';

// The text of a key that was rotated or revoked does not come back by the Secret.
const ends = endings();
afterEach(ends.endAll);

const clock = fakeClock();
let memory: MemoryStore;
beforeEach(() => {
  memory = memoryStore(clock.now);
});

const status = () => memory.store.get('APIKey', 'home', 'k')?.status;
const ready = () => conditionsText(status()?.conditions)[0];
const secret = (): Secret => {
  const found = memory.secrets.get('home/s');
  if (found === undefined) throw new Error('no Secret');
  return found;
};
const text = () => secretValue(secret(), 'apiKey') ?? '';
const opens = (key: string) => memory.store.key(hashKeyText(key)) !== undefined;
const write = (key: string) =>
  memory.putSecret({ ...secret(), data: { ...secret().data, apiKey: Buffer.from(key).toString('base64') } });
const apply = (rotation?: object, annotations?: Record<string, string>) =>
  memory.apply(
    apiKeyOf(
      'k',
      { secretName: 's', ...(rotation && { rotation }) },
      { ...(annotations && { annotations }) },
    ),
  );
async function issued(): Promise<string> {
  await until(() => (status()?.hashes ?? [])[0]?.hash === hashKeyText(text()), 'issued');
  return text();
}
async function rotated(overlapSeconds = 0): Promise<[string, string]> {
  apply();
  start(ends, memory, { clock });
  await until(() => ready() === 'Ready=True KeyIssued', 'issued');
  const old = text();
  apply({ revision: 1, overlapSeconds });
  await until(() => text() !== old, 'rotated');
  return [old, await issued()];
}
async function isRefused(old: string, current: string): Promise<void> {
  await until(() => ready() === 'Ready=True FormerKeyRefused', 'refused');
  const next = await issued();
  expect([old, current]).not.toContain(next);
  expect(opens(next)).toBe(true);
  expect([opens(old), opens(current)]).toEqual([false, false]);
  expect(status()?.conditions?.[0]?.message).toMatch(
    /The Secret "s" held a key that .*another key was issued/,
  );
  expect(JSON.stringify([status(), memory.events])).not.toContain(old);
  expect(memory.events.filter(({ reason }) => reason === 'FormerKeyRefused')).toMatchObject([
    { type: 'Warning' },
  ]);
}

test.each([
  ['whose overlap is over', 0],
  ['whose overlap is not over', 600],
])('an edit of the Secret that brings back a rotated text %s', async (_, overlapSeconds) => {
  const [old, current] = await rotated(overlapSeconds);
  write(old);
  await isRefused(old, current);
});

test('an old copy of the whole Secret, with its annotations', async () => {
  apply();
  start(ends, memory, { clock });
  await until(() => ready() === 'Ready=True KeyIssued', 'issued');
  const copy = structuredClone(secret());
  apply({ revision: 1, overlapSeconds: 0 });
  await until(() => text() !== secretValue(copy, 'apiKey'), 'rotated');
  const current = await issued();
  memory.putSecret(copy);
  await isRefused(secretValue(copy, 'apiKey') ?? '', current);
  expect(status()?.hashes?.[0]?.revision).toBe(1);
});

test('a Secret that was deleted and is created again with the revoked text, and with the one before', async () => {
  const [first, second] = await rotated();
  const copy = structuredClone(secret());
  memory.deleteSecret('home', 's');
  await until(() => memory.secrets.has('home/s') && text() !== second, 'issued again');
  const third = await issued();
  memory.putSecret(copy);
  await isRefused(second, third);
  expect(opens(first)).toBe(false);
});

test('a Secret of no owner, although the key says to adopt it', async () => {
  apply(undefined, { 'modelgateway.dev/adopt-secret': 'true' });
  start(ends, memory, { clock });
  await until(() => ready() === 'Ready=True KeyIssued', 'issued');
  const old = text();
  const { ownerReferences: _, ...metadata } = secret().metadata;
  const copy = { ...secret(), metadata };
  memory.deleteSecret('home', 's');
  await until(() => memory.secrets.has('home/s') && text() !== old, 'issued again');
  const current = await issued();
  memory.deleteSecret('home', 's');
  memory.putSecret(copy);
  await isRefused(old, current);
  expect(memory.events.map(({ reason }) => reason)).not.toContain('SecretAdopted');
});

test('a crash after another key was issued, and a restart', async () => {
  const [old, current] = await rotated();
  memory.before = ({ what, name }) => {
    if (what === 'status' && name === 'k') throw new Error('crash');
  };
  write(old);
  await until(() => text() !== old, 'issued');
  await ends.endAll();
  memory.before = () => {};
  start(ends, memory, { clock });
  await until(() => opens(text()), 'taken over');
  expect([opens(old), opens(current)]).toEqual([false, false]);
  write(old);
  await until(() => ready() === 'Ready=True FormerKeyRefused', 'refused');
  expect(opens(old)).toBe(false);
});

test('a text that is written again and again is never taken, and the memory is bounded', async () => {
  const [old] = await rotated();
  for (let round = 0; round < 25; round += 1) {
    const before = text();
    write(old);
    await until(() => text() !== old, 'refused');
    await until(() => (status()?.hashes ?? [])[0]?.hash === hashKeyText(text()), 'issued');
    expect(text()).not.toBe(before);
    expect(opens(old)).toBe(false);
  }
  expect(status()?.retiredHashes).toHaveLength(20);
});

test('the condition stays for a day, and a text that was never in force is still taken', async () => {
  const [old, current] = await rotated();
  write(old);
  await isRefused(old, current);
  await settle();
  const count = () => memory.writes.filter(({ name }) => name === 'k' || name === 's').length;
  const writes = count();
  await clock.advance(3_600_000);
  await settle();
  expect([ready(), count()]).toEqual(['Ready=True FormerKeyRefused', writes]);
  await clock.advance(86_400_000);
  await until(() => ready() === 'Ready=True KeyIssued', 'it is over');
  const brought = generateKeyText('api', (size) => Buffer.alloc(size, 7));
  write(brought);
  await until(() => opens(brought), 'taken');
});

test('a Secret that only lost its owner is taken up again with its text', async () => {
  apply();
  start(ends, memory, { clock });
  await until(() => ready() === 'Ready=True KeyIssued', 'issued');
  const key = text();
  const { ownerReferences: _, ...metadata } = secret().metadata;
  memory.putSecret({ ...secret(), metadata });
  await until(() => ready() === 'Ready=False SecretConflict', 'conflict');
  apply(undefined, { 'modelgateway.dev/adopt-secret': 'true' });
  await until(() => opens(key), 'taken up again');
  expect(text()).toBe(key);
});
