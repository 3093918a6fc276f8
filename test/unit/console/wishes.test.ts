import { randomBytes } from 'node:crypto';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, test } from 'vitest';
import type { Declarations, Ref } from '../../../src/cli/edit/declarations.ts';
import { read } from '../../../src/console/read.ts';
import { planWishes, wishesSchema } from '../../../src/console/wishes.ts';
import { hashKeyText } from '../../../src/resources/key-text.ts';

const node: Ref = { kind: 'UpstreamNode', namespace: 'default', name: 'one' };
const recipient = await identityToRecipient(await generateIdentity());
const options = {
  declarations: { sealingRecipient: async () => recipient } as Partial<Declarations> as Declarations,
  randomBytes,
  now: () => Date.parse('2026-11-21T04:00:00Z'),
  signal: new AbortController().signal,
};
const plan = (wishes: unknown, ref: Ref = node) =>
  planWishes(
    wishesSchema.parse(wishes),
    ref,
    { baseURL: 'https://one.example/v1', node: undefined },
    options,
  );

function nested(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth));
}

test.for([
  ['a field outside of spec', { edits: [{ path: ['metadata', 'labels'], value: {} }] }],
  ['status', { edits: [{ path: ['status', 'phase'], value: 'ready' }] }],
  ['a sealed key of the caller', { edits: [{ path: ['spec', 'encryptedAPIKey'], value: 'x' }] }],
  ['a value and a removal', { edits: [{ path: ['spec', 'weight'], value: 1, remove: true }] }],
  ['a wish that is not known', { force: true }],
  ['a value that is nested too deeply', { edits: [{ path: ['spec', 'models'], value: nested(100_000) }] }],
  ['an empty key', { apiKey: '' }],
  [
    'too many edits',
    { edits: Array.from({ length: 2_001 }, () => ({ path: ['spec', 'weight'], value: 1 })) },
  ],
  ['a model without a name', { models: { names: [''], enabled: true } }],
] as const)('refuses %s', ([, wishes]) => {
  expect(wishesSchema.safeParse(wishes).success).toBe(false);
});

test.for([
  [{ force: true }, 'force is not a field; remove it'],
  [{ models: { names: ['m'], enabled: true, all: 1 } }, 'models.all is not a field; remove it'],
  [{ edits: [{ path: ['spec', 'weight'], valu: 3 }] }, 'edits[0].value is missing; add it'],
  [
    { edits: [{ path: ['spec', 3], value: 3 }] },
    'edits[0].path[1] must be a string, not a number; put it in quotes',
  ],
  [{ edits: [{ path: ['status'], value: 3 }] }, 'edits[0].path[0] must be spec; write that'],
] as const)('a refusal of %j names the member', ([wishes, message]) => {
  expect(() => read(wishesSchema, wishes)).toThrow(message);
});

test('a credential is sealed, and is nowhere in the edits', async () => {
  const { edits, value } = await plan({ apiKey: 'sk-secret', clearApiKey: true });
  expect(value).toBeUndefined();
  expect(JSON.stringify(edits)).toContain('BEGIN AGE ENCRYPTED FILE');
  expect(JSON.stringify(edits)).not.toContain('sk-secret');
  // The new key stands; the wish to clear the old one does not take it away.
  expect(edits.at(-1)).not.toMatchObject({ path: ['spec', 'encryptedAPIKey'], remove: true });
});

test('no wish for a key leaves the key as it is', async () => {
  const { edits } = await plan({ edits: [{ path: ['spec', 'weight'], value: 7 }] });
  expect(edits).toEqual([{ path: ['spec', 'weight'], value: 7 }]);
});

test('a synchronization is asked for by the time', async () => {
  expect(JSON.stringify((await plan({ sync: true })).edits)).toContain('2026-11-21T04:00:00.000Z');
});

test.for([
  ['APIKey', /^mgk_/],
  ['MasterKey', /^mgm_/],
] as const)('a new %s is told once and declared by its hash', async ([kind, start]) => {
  const { edits, value = '' } = await plan({ newKey: true }, { ...node, kind });
  expect(value).toMatch(start);
  expect(edits[0]).toEqual({ path: ['spec', 'hash'], value: hashKeyText(value) });
  expect(JSON.stringify(edits)).not.toContain(value);
});

test('more than a request may hold is refused in words, with the field', () => {
  const names = Array.from({ length: 6_001 }, (_, at) => `m-${at}`);
  expect(() => read(wishesSchema, { models: { names, enabled: true } })).toThrow(
    'models.names must have at most 6000 entries; remove some',
  );
});
