import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readSecret } from '../../../src/cli/read-secret.ts';
import { SealError, type SealRequest, seal } from '../../../src/cli/seal.ts';
import {
  generateSealingIdentity,
  openSealedKey,
  sealingRecipient,
} from '../../../src/resources/sealed-key.ts';

const identity = await generateSealingIdentity();
const recipient = await sealingRecipient(identity);
const request: SealRequest = {
  name: 'n',
  baseURL: 'https://api.example.com/v1',
  namespace: undefined,
  recipient: undefined,
  data: undefined,
  homeNamespace: undefined,
};
const noCluster = () => {
  throw new Error('the cluster was asked');
};
const key = async () => 'sk-secret';

test('offline, to a recipient: the lines open for this node alone', async () => {
  const lines = await seal({ ...request, recipient, namespace: 'team' }, noCluster, key);
  const { encryptedAPIKey: text } = parse(lines);
  const opened = (namespace: string) =>
    openSealedKey({
      text,
      identities: [identity],
      namespace,
      name: 'n',
      baseURL: 'https://api.example.com/v2',
    });
  expect(await opened('team')).toEqual({ apiKey: 'sk-secret' });
  expect(await opened('other')).toEqual({ refused: 'elsewhere', differs: ['namespace'] });
});

test('standalone, by the data folder', async () => {
  const data = await mkdtemp(join(tmpdir(), 'seal-'));
  await writeFile(join(data, 'sealing-recipient.txt'), `${recipient}\n`);
  const { encryptedAPIKey: text } = parse(await seal({ ...request, data }, noCluster, key));
  const sealed = {
    text,
    identities: [identity],
    namespace: 'default',
    name: 'n',
    baseURL: 'https://api.example.com',
  };
  expect(await openSealedKey(sealed)).toEqual({ apiKey: 'sk-secret' });
  await rm(data, { recursive: true });
});

const refusals: [string, Partial<SealRequest>, string][] = [
  ['no name', { name: undefined }, '--name is missing'],
  ['no URL', { baseURL: undefined }, '--base-url is missing'],
  ['two places', { recipient, data: '/x' }, 'exclude each other'],
  ['no such folder', { data: '/does-not-exist' }, '/does-not-exist/sealing-recipient.txt cannot be read'],
];
test.each(refusals)('refuses before it asks for the key: %s', async (_, change, message) => {
  let asked = false;
  const ask = async () => {
    asked = true;
    return 'x';
  };
  const sealing = seal({ ...request, ...change }, noCluster, ask);
  await expect(sealing).rejects.toThrow(SealError);
  await expect(seal({ ...request, ...change }, noCluster, ask)).rejects.toThrow(message);
  expect(asked).toBe(false);
});

test('a piped key loses its line end only', async () => {
  expect(await readSecret('? ', Readable.from(['sk-', 'x\r\n']), new PassThrough())).toBe('sk-x');
  await expect(readSecret('? ', Readable.from(['\n']), new PassThrough())).rejects.toThrow(
    'The key is empty',
  );
  await expect(readSecret('? ', Readable.from(['x'.repeat(20_000)]), new PassThrough())).rejects.toThrow(
    'longer than',
  );
});

test('a typed key is not echoed; Backspace takes back, Ctrl-C gives up', async () => {
  const type = async (keys: string) => {
    const input = Object.assign(new PassThrough(), {
      isTTY: true as const,
      setRawMode: () => input as never,
    });
    const output = new PassThrough();
    const reading = readSecret('Key: ', input, output);
    for (const k of keys) input.write(k);
    const text = await reading.finally(() => expect(String(output.read())).toBe('Key: \n'));
    return text;
  };
  expect(await type('sk-xy\u007f1\r')).toBe('sk-x1');
  await expect(type('sk\u0003')).rejects.toThrow('Given up');
});
