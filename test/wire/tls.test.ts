import { spawn } from 'node:child_process';
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTlsPair } from '../../src/tls/tls-pair.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { keptSecret } from '../support/kept-secret.ts';
import { runProduct } from '../support/run-product.ts';
import {
  type Folders,
  keyWithHash,
  manifest,
  newFolders,
  type Standalone,
  startStandalone,
} from '../support/standalone.ts';
import { tlsFile, tlsText } from '../support/tls-file.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

const key = keyWithHash();

let folders: Folders;
let upstream: ScriptedUpstream;
let gateway: Standalone;
let origin: string;

/** Puts files into the folder as the kubelet does with a Secret: one symbolic link changes, for all of them at once. */
async function mount(files: Readonly<Record<string, string>>): Promise<void> {
  const folder = join(folders.root, 'tls');
  const version = `..v${performance.now()}`;
  await mkdir(join(folder, version), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, version, name), text);
    await symlink(join('..data', name), join(folder, name)).catch(() => {});
  }
  await symlink(version, join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
}

const flags = () => [
  '--tls-cert',
  join(folders.root, 'tls/tls.crt'),
  '--tls-key',
  join(folders.root, 'tls/tls.key'),
];
const pair = (n: 1 | 2) => ({ 'tls.crt': tlsText(`server${n}.crt`), 'tls.key': tlsText(`server${n}.key`) });
const agent = (n: 1 | 2, connections = 100) =>
  new Agent({ connections, connect: { ca: tlsText(`ca${n}.crt`) } });

const ask = (dispatcher: Agent, stream = false) =>
  request(`${origin}/v1/chat/completions`, {
    method: 'POST',
    dispatcher,
    headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [], stream }),
  });

/** Whether a new connection trusts the gateway by that authority. */
async function servedBy(n: 1 | 2): Promise<boolean> {
  const dispatcher = agent(n, 1);
  const status = await ask(dispatcher).then(
    async ({ statusCode, body }) => {
      await body.dump();
      return statusCode;
    },
    () => 0,
  );
  await dispatcher.close();
  return status === 200;
}

const metric = async (name: string) => {
  const text = await (await fetch(`${gateway.admin}/metrics`)).text();
  return text
    .split('\n')
    .find((line) => line.startsWith(name))
    ?.split(' ')[1];
};

beforeAll(async () => {
  upstream = await startUpstream({ models: ['m'], chunks: 40, chunkDelayMilliseconds: 50 });
  folders = await newFolders({
    'node.yaml': manifest('UpstreamNode', 'n', { baseURL: upstream.url, manualModels: ['m'] }),
    'key.yaml': manifest('APIKey', 'k', { hash: key.hash }),
  });
  await mount(pair(1));
  gateway = await startStandalone({ folders, flags: flags() });
  origin = `https://127.0.0.1:${gateway.port}`;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream.stop();
  await folders[Symbol.asyncDispose]();
});

test('a certificate swapped under 50 open streams breaks none, and new connections get the new one', async () => {
  expect(await servedBy(1)).toBe(true);
  expect(await servedBy(2)).toBe(false);
  const dispatcher = agent(1);
  const streams = await Promise.all(Array.from({ length: 50 }, () => ask(dispatcher, true)));
  const whole = Promise.all(streams.map(({ body }) => body.text()));
  await mount(pair(2));
  await eventually('new connections get the new certificate', () => servedBy(2), 10_000);
  expect(await servedBy(1)).toBe(false);
  const texts = await whole;
  expect(texts.filter((text) => text.endsWith('data: [DONE]\n\n'))).toHaveLength(50);
  // Their connections stay in use: only what opens from now on needs to trust the new certificate.
  expect((await ask(dispatcher)).statusCode).toBe(200);
  await dispatcher.close();
  expect(await metric('modelgateway_tls_certificate_reloads_total{result="success"}')).toBe('1');
  expect(Number(await metric('modelgateway_tls_certificate_expiration_timestamp_seconds'))).toBeGreaterThan(
    4e9,
  );
});

test('a broken pair leaves the last good one in force and is told once', async () => {
  await mount({ 'tls.crt': tlsText('server1.crt'), 'tls.key': tlsText('server2.key') });
  const complaints = () =>
    gateway.complaints().filter(({ msg }) => msg === 'Kept the TLS certificate in force');
  await eventually('the mismatch is told', async () => complaints().length > 0, 10_000);
  expect(complaints()[0]?.['reason']).toMatch(
    /^The key in \S+tls\.key is not the one of the certificate in \S+tls\.crt \(CN=localhost\): give both files/,
  );
  expect(await servedBy(2)).toBe(true);
  await mount({ 'tls.crt': '', 'tls.key': tlsText('server1.key') });
  await eventually('the empty file is told', async () => complaints().length > 1, 10_000);
  expect(complaints()[1]?.['reason']).toMatch(/^\S+tls\.crt does not hold a certificate in PEM/);
  await delay(600);
  expect(complaints()).toHaveLength(2);
  expect(await servedBy(2)).toBe(true);
  await mount(pair(1));
  await eventually('the mended pair is taken', () => servedBy(1), 10_000);
  expect(await metric('modelgateway_tls_certificate_reloads_total{result="error"}')).toBe('2');
  expect(gateway.output()).not.toContain('PRIVATE KEY');
});

test('what is not TLS, not HTTP/1.1 or never ends is refused, and the others are served', async () => {
  const raw = (bytes: string | Buffer): Promise<string> =>
    new Promise((resolve) => {
      let text = '';
      const socket = connect(gateway.port, '127.0.0.1', () => socket.write(bytes));
      socket.setEncoding('latin1').on('data', (piece) => {
        text += piece;
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(text));
    });
  const plain = await raw('POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
  expect(plain).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*write https:\/\/ in the address/);
  expect(await raw(Buffer.from('0001020304050607', 'hex'))).not.toContain('HTTP');
  expect(await raw(`\x16\x03\x01\x00\xff${'x'.repeat(500)}`)).not.toContain('HTTP');
  const half = connect(gateway.port, '127.0.0.1', () => half.write(Buffer.from('160301', 'hex')));
  half.on('error', () => {});

  const handshake = (options: ConnectionOptions): Promise<string> =>
    new Promise((resolve) => {
      const socket = connectTls(
        { port: gateway.port, host: '127.0.0.1', ca: tlsText('ca1.crt'), ...options },
        () => {
          resolve(`${socket.getProtocol()} ${socket.alpnProtocol}`);
          socket.destroy();
        },
      );
      socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'error'));
    });
  expect(await handshake({ ALPNProtocols: ['h2', 'http/1.1'] })).toBe('TLSv1.3 http/1.1');
  expect(await handshake({ maxVersion: 'TLSv1.2' })).toBe('TLSv1.2 false');
  expect(
    await handshake({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
  ).toMatch(/PROTOCOL_VERSION|NO_PROTOCOLS|ECONNRESET/);
  expect(await handshake({ ALPNProtocols: ['h2'] })).toMatch(/NO_APPLICATION_PROTOCOL/);

  // HTTP that is none, through TLS: answered as without TLS.
  const inside = await new Promise<string>((resolve) => {
    let text = '';
    const socket = connectTls({ port: gateway.port, host: '127.0.0.1', ca: tlsText('ca1.crt') }, () => {
      socket.write('garbage\r\n\r\n');
    });
    socket.setEncoding('utf8').on('data', (piece) => {
      text += piece;
    });
    socket.on('close', () => resolve(text));
  });
  expect(inside).toMatch(/^HTTP\/1\.1 400 /);
  expect(await servedBy(1)).toBe(true);
  half.destroy();
  gateway.alive();
});

test('a handshake that is never ended is cut off, and a drain waits for streams through TLS', async () => {
  const tls = await readTlsPair({
    cert: tlsFile('server1.crt'),
    key: tlsFile('server1.key'),
  });
  const own = await startGateway({ tls, limits: { handshakeMs: 200 } });
  await own.addNode('n', { upstream: { chunks: 10, chunkDelayMilliseconds: 40 } });
  const began = performance.now();
  const half = connect(own.port, '127.0.0.1', () => half.write(Buffer.from('160301', 'hex')));
  await new Promise((resolve) => half.on('close', resolve).resume());
  expect(performance.now() - began).toBeLessThan(2_000);
  const dispatcher = agent(1);
  const stream = await request(`${own.baseURL}/chat/completions`, {
    method: 'POST',
    dispatcher,
    headers: { authorization: `Bearer ${own.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [], stream: true }),
  });
  const [text] = await Promise.all([stream.body.text(), own.gateway.drain(10_000)]);
  expect(text).toMatch(/\[DONE\]\n\n$/);
  await dispatcher.close();
  await own.close();
});

test('the SDK works with nothing but the authority in its environment', async () => {
  const script = `
    import OpenAI from 'openai';
    const client = new OpenAI({ maxRetries: 0 });
    const stream = await client.chat.completions.create({ model: 'm', messages: [], stream: true });
    let pieces = 0;
    for await (const piece of stream) pieces += piece.choices.length;
    console.log('pieces', pieces > 5);`;
  const run = (env: Record<string, string>) =>
    new Promise<string>((resolve) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        cwd: fileURLToPath(new URL('../..', import.meta.url)),
        env: { PATH: process.env['PATH'], OPENAI_BASE_URL: `${origin}/v1`, OPENAI_API_KEY: key.text, ...env },
        timeout: 30_000,
      });
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (bytes) => (text += String(bytes)));
      child.on('close', () => resolve(text));
    });
  expect(await run({ NODE_EXTRA_CA_CERTS: tlsFile('ca1.crt') })).toBe('pieces true\n');
  expect(await run({})).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
});

test('the base URL that standalone tells and writes into Secrets is https', async () => {
  await folders.write('made.yaml', manifest('APIKey', 'made', { secretName: 'made' }));
  await eventually(
    'the Secret holds it',
    () => keptSecret(folders.data, 'made')?.['baseURL'] === `${origin}/v1`,
  );
  expect(gateway.log().find(({ msg }) => msg === 'Serving')?.['baseURL']).toBe(`${origin}/v1`);
});

test('a start with a pair that cannot serve names files, reason and remedy', async () => {
  const start = (...more: string[]) =>
    runProduct([
      'standalone',
      '--manifests',
      folders.manifests,
      '--data',
      join(folders.root, 'other'),
      ...more,
    ]);
  const crossed = ['--tls-cert', tlsFile('server1.crt'), '--tls-key', tlsFile('server2.key')];
  const [mismatch, missing, alone] = await Promise.all([
    start(...crossed),
    start('--tls-cert', '/nowhere.crt', '--tls-key', tlsFile('server2.key')),
    start('--tls-cert', tlsFile('server1.crt')),
  ]);
  expect(mismatch).toMatchObject({ code: 2, stdout: '' });
  expect(mismatch.stderr).toMatch(
    /server2\.key is not the one of the certificate in \S+server1\.crt .*give both/,
  );
  expect(missing).toMatchObject({ code: 2 });
  expect(missing.stderr).toContain('/nowhere.crt cannot be read (ENOENT): give a file that exists');
  expect(alone).toMatchObject({ code: 2 });
  expect(alone.stderr).toContain('--tls-key is missing');
});
