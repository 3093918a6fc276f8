import { armor, Encrypter } from 'age-encryption';
import { beforeAll, expect, test } from 'vitest';
import {
  generateSealingIdentity,
  isCredential,
  maxCredentialLength,
  openSealedKey,
  sealApiKey,
  sealingRecipient,
} from '../../../src/resources/sealed-key.ts';
import { maxSealedLength } from '../../../src/resources/upstream-node.ts';

const apiKey = 'sk-planted-credential';
const node = { namespace: 'team', name: 'openai', baseURL: 'https://api.openai.com/v1' };
let identity = '';
let recipient = '';
let text = '';

beforeAll(async () => {
  identity = await generateSealingIdentity();
  recipient = await sealingRecipient(identity);
  text = await sealApiKey({ ...node, recipient, apiKey });
});

async function sealRaw(content: string): Promise<string> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  return armor.encode(await encrypter.encrypt(content));
}

test('what is sealed opens for its node, by any of several identities', async () => {
  expect(text.startsWith('-----BEGIN AGE ENCRYPTED FILE-----\n')).toBe(true);
  expect(text).not.toContain(apiKey);
  const other = await generateSealingIdentity();
  expect(await openSealedKey({ ...node, text, identities: [other, identity] })).toEqual({ apiKey });
});

test('a line that is no identity keeps none of the others from opening', async () => {
  const typo = `${identity.slice(0, -1)}${identity.endsWith('Q') ? 'P' : 'Q'}`;
  for (const identities of [
    [typo, identity],
    [identity, typo],
    [...Array<string>(200).fill(typo), identity],
  ]) {
    expect(await openSealedKey({ ...node, text, identities })).toEqual({ apiKey });
  }
  const stranger = await generateSealingIdentity();
  expect(await openSealedKey({ ...node, text, identities: [typo, stranger] })).toEqual({
    refused: 'unreadable',
  });
});

test('another path at the same origin is the same place', async () => {
  const opened = await openSealedKey({
    ...node,
    baseURL: 'https://API.openai.com:443/v2',
    text,
    identities: [identity],
  });
  expect(opened).toEqual({ apiKey });
});

test.each([
  ['namespace', { namespace: 'other' }, ['namespace']],
  ['name', { name: 'other' }, ['name']],
  ['host', { baseURL: 'https://evil.example/v1' }, ['origin']],
  ['scheme', { baseURL: 'http://api.openai.com/v1' }, ['origin']],
  ['port', { baseURL: 'https://api.openai.com:8443/v1' }, ['origin']],
  ['everything', { namespace: 'x', name: 'y', baseURL: 'nonsense' }, ['namespace', 'name', 'origin']],
])('another %s refuses it', async (_, change, differs) => {
  const opened = await openSealedKey({ ...node, ...change, text, identities: [identity] });
  expect(opened).toEqual({ refused: 'elsewhere', differs });
});

test('what cannot be opened is unreadable', async () => {
  const stranger = await generateSealingIdentity();
  const opens = (sealed: string, identities: string[]) =>
    openSealedKey({ ...node, text: sealed, identities });
  const unreadable = { refused: 'unreadable' };
  expect(await opens(text, [stranger])).toEqual(unreadable);
  expect(await opens(text, [])).toEqual(unreadable);
  expect(await opens('', [identity])).toEqual(unreadable);
  expect(await opens(text.replace(/.(?=.{5}\n-----END)/, '!'), [identity])).toEqual(unreadable);
  expect(await opens('x'.repeat(maxSealedLength + 1), [identity])).toEqual(unreadable);
  expect(await opens(await sealRaw('not JSON'), [identity])).toEqual(unreadable);
  expect(await opens(await sealRaw(JSON.stringify({ v: 2 })), [identity])).toEqual(unreadable);
  const newline = {
    v: 1,
    namespace: 'team',
    name: 'openai',
    origin: 'https://api.openai.com',
    apiKey: 'a\r\nb',
  };
  expect(await opens(await sealRaw(JSON.stringify(newline)), [identity])).toEqual(unreadable);
});

test('bad input is refused without repeating it', async () => {
  const seal = (change: object) => sealApiKey({ ...node, recipient, apiKey, ...change });
  for (const bad of ['', 'a b', 'a\nb', 'é', 'x'.repeat(maxCredentialLength + 1)]) {
    await expect(seal({ apiKey: bad })).rejects.toThrow('1 to 8192 visible ASCII characters');
  }
  await expect(seal({ baseURL: 'ftp://x.example' })).rejects.toThrow('http or https');
  await expect(seal({ recipient: 'age1nonsense' })).rejects.toThrow('not an age recipient');
  await expect(sealingRecipient(apiKey)).rejects.toThrow(/^The sealing identity is not an age identity/);
  await expect(openSealedKey({ ...node, text, identities: [apiKey] })).rejects.toThrow(
    /^None of the sealing identities is an age identity/,
  );
});

test('the longest credential fits into the field', async () => {
  const longest = 'x'.repeat(maxCredentialLength);
  expect(isCredential(longest)).toBe(true);
  const names = {
    namespace: 'n'.repeat(63),
    name: 'n'.repeat(253),
    baseURL: `https://${'h'.repeat(63)}.example/v1`,
  };
  const sealed = await sealApiKey({ ...names, recipient, apiKey: longest });
  expect(sealed.length).toBeLessThan(maxSealedLength / 2);
  expect(await openSealedKey({ ...names, text: sealed, identities: [identity] })).toEqual({
    apiKey: longest,
  });
});
