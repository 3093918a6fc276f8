import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { expect, test } from 'vitest';
import { sealingReconcile } from '../../../src/controller/sealing.ts';
import { generateSealingIdentity, sealingRecipient } from '../../../src/resources/sealed-key.ts';
import { type MemoryStore, memoryStore } from './memory-store.ts';
import { nodeOf, secretOf } from './resources.ts';

const key = 'home/model-gateway-sealing';
const { signal } = new AbortController();
const silent = pino({ level: 'silent' });

const reconcile = (memory: MemoryStore, log: Logger = silent) =>
  sealingReconcile(memory.store)(key, { signal, log, debug: () => {} });
const published = (memory: MemoryStore) =>
  memory.writes.filter(({ what }) => what === 'publish').map(({ name }) => name);

function heard(): { log: Logger; lines: () => Record<string, unknown>[] } {
  let text = '';
  const stream = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  return {
    log: pino({ level: 'debug', base: null, timestamp: false }, stream),
    lines: () =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  };
}

test('the recipient is published again every ten minutes: nobody tells when its ConfigMap is deleted', async () => {
  const memory = memoryStore();
  expect(await reconcile(memory)).toEqual({ requeueAfterMs: 600_000 });
  await reconcile(memory);
  const [first, second] = published(memory);
  expect(first).toMatch(/^age1/);
  expect(second).toBe(first);
});

test('a line that is no identity is passed over, and a warning does not repeat it', async () => {
  const [older, newer] = [await generateSealingIdentity(), await generateSealingIdentity()];
  const typo = `${newer.slice(0, -1)}${newer.endsWith('Q') ? 'P' : 'Q'}`;
  const memory = memoryStore();
  memory.putSecret(secretOf('model-gateway-sealing', { identities: `${older}\n${typo}\n` }));
  const { log, lines } = heard();
  await reconcile(memory, log);
  expect(published(memory)).toEqual([await sealingRecipient(older)]);
  expect(lines()).toMatchObject([{ level: 40, unusable: 1 }]);
  expect(JSON.stringify(lines())).not.toMatch(/AGE-SECRET-KEY-1\w/);
});

test('with no line that is an identity nothing is published, and the error does not repeat one', async () => {
  const memory = memoryStore();
  memory.putSecret(secretOf('model-gateway-sealing', { identities: 'AGE-SECRET-KEY-1PLANTED\n' }));
  const failed = reconcile(memory);
  await expect(failed).rejects.toThrow('holds no age identity that can be used');
  await expect(failed).rejects.not.toThrow('PLANTED');
  expect(memory.writes).toEqual([]);
});

test('an identity that is lost although its recipient is published is reported with the nodes that need it', async () => {
  const lost = await generateSealingIdentity();
  const memory = memoryStore();
  memory.recipient = await sealingRecipient(lost);
  memory.apply(
    nodeOf('sealed', {
      encryptedAPIKey: '-----BEGIN AGE ENCRYPTED FILE-----\n-----END AGE ENCRYPTED FILE-----\n',
    }),
  );
  memory.apply(nodeOf('other', {}));
  const { log, lines } = heard();
  await reconcile(memory, log);
  await reconcile(memory, log);
  const errors = lines().filter(({ level }) => level === 50);
  expect(errors).toMatchObject([
    { nodes: ['home/sealed'], count: 1, lostRecipient: await sealingRecipient(lost) },
  ]);
  expect(errors[0]?.['msg']).toMatch(/cannot be opened; restore the Secret from a backup, or seal/);
});

test('a newer identity beside the published one is no loss', async () => {
  const [older, newer] = [await generateSealingIdentity(), await generateSealingIdentity()];
  const memory = memoryStore();
  memory.recipient = await sealingRecipient(older);
  memory.putSecret(secretOf('model-gateway-sealing', { identities: `${older}\n${newer}\n` }));
  const { log, lines } = heard();
  await reconcile(memory, log);
  expect(published(memory)).toEqual([await sealingRecipient(newer)]);
  expect(lines()).toEqual([]);
});
