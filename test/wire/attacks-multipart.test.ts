import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let node: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway({ limits: { bodyIdleMs: 500, lingerMs: 500 } });
  node = await gateway.addNode('n', {
    spec: { manualModels: ['m', 'secret'], models: [{ name: 'm', aliases: ['fast'] }] },
  });
});
afterEach(() => gateway.close());

const mib = 1024 * 1024;
const type = 'multipart/form-data; boundary=b';
const field = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const fileHead = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
const end = '--b--\r\n';

/** A form with a file of so many bytes, and the model behind it. */
function formOf(size: number, model = 'fast'): Buffer {
  return Buffer.concat([
    Buffer.from(fileHead),
    // Line ends and dashes, so that nearly every place looks like the beginning of a boundary.
    Buffer.alloc(size, '\r\n--\r\n-'),
    Buffer.from(`\r\n${field('model', model)}${end}`),
  ]);
}

function post(body: Uint8Array | string, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.post('/audio/transcriptions', body, { headers: { 'content-type': type, ...headers } });
}

async function errorOf(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  return `${answer.status} ${error.code}: ${error.message}`;
}

test('a form of 32 MiB is passed on with another name of the model; one byte more is refused', async () => {
  const room = 32 * mib - formOf(0).length;
  const answer = await post(formOf(room));
  expect([answer.status, await answer.json()]).toMatchObject([200, { text: `${room} bytes` }]);
  const [request] = node.requests;
  expect(request?.body.equals(formOf(room, 'm'))).toBe(true);
  expect(await errorOf(await post(formOf(room + 1)))).toMatch(/^413 request_too_large: /);
});

test('10,000 parts are refused', async () => {
  const answer = await post(field('x', 'y').repeat(10_000) + field('model', 'm') + end);
  expect(await errorOf(answer)).toMatch(/^400 invalid_multipart: .* 1000 parts/);
});

test('a compressed form is decoded within the same bound', async () => {
  const body = gzipSync(formOf(3 * mib));
  expect((await post(body, { 'content-encoding': 'gzip' })).status).toBe(200);
  const [request] = node.requests;
  expect(request?.headers['content-encoding']).toBe(undefined);
  expect(request?.body.equals(formOf(3 * mib, 'm'))).toBe(true);
  const bomb = gzipSync(formOf(33 * mib));
  expect(await errorOf(await post(bomb, { 'content-encoding': 'gzip' }))).toMatch(/^413 request_too_large: /);
});

test.each([
  ['the model twice', field('model', 'm') + field('model', 'secret') + end],
  ['another spelling', field('model', 'm') + field('MODEL', 'secret') + end],
  ['a list', field('model', 'm') + field('model[]', 'secret') + end],
  ['other models', field('model', 'm') + field('fallbacks', 'secret') + end],
  ['an escaped name', `${field('model', 'm')}${field('mo\\del', 'secret')}${end}`],
  [
    'an extended name',
    `${field('model', 'm')}--b\r\nContent-Disposition: form-data; name*=utf-8''model\r\n\r\nsecret\r\n${end}`,
  ],
  [
    'a folded header',
    `${field('model', 'm')}--b\r\nContent-Disposition: form-data;\r\n name="model"\r\n\r\nsecret\r\n${end}`,
  ],
  [
    'a semicolon in a file name',
    `${field('model', 'm')}--b\r\nContent-Disposition: form-data; name="file"; filename="a;name=model;b"\r\n\r\nsecret\r\n${end}`,
  ],
  ['a part after the end', field('model', 'm') + end + field('model', 'secret') + end],
  ['a part before the beginning', `\n${field('model', 'secret')}${field('model', 'm')}${end}`],
  [
    'line ends of another kind',
    field('x', `y\n--b\nContent-Disposition: form-data; name="model"\n\nsecret`) + field('model', 'm') + end,
  ],
  ['JSON in place of a form', '{"model":"secret"}'],
])('a key with an allowlist does not reach another model by %s', async (_name, body) => {
  const key = gateway.addKey({ models: ['m'] });
  const answer = await post(body, { authorization: `Bearer ${key}` });
  expect(answer.status).toBe(400);
  expect(node.requests).toHaveLength(0);
  const asJson = await post(body, { authorization: `Bearer ${key}`, 'content-type': 'application/json' });
  expect([400, 403]).toContain(asJson.status);
  expect(node.requests).toHaveLength(0);
});

test('the node gets one content-type, which the gateway wrote', async () => {
  const answer = await post(field('model', 'm') + end, {
    'content-type': 'Multipart/Form-Data ;charset="UTF-8"; BOUNDARY="b";',
  });
  expect(answer.status).toBe(200);
  expect(node.requests[0]?.headers['content-type']).toBe(type);
});

test('refused forms leave no memory taken', async () => {
  await gateway.close();
  gateway = await startGateway({ limits: { bodyBytes: mib, bufferedBytes: 2 * mib } });
  node = await gateway.addNode('n', { spec: { models: [{ name: 'm', aliases: ['fast'] }] } });
  for (let sent = 0; sent < 10; sent++) {
    const body = formOf(mib / 2).subarray(0, -5);
    expect(await errorOf(await post(body))).toMatch(/^400 invalid_multipart: .* ends before/);
  }
  expect((await post(formOf(mib / 2))).status).toBe(200);
});

test('an upload that stands still is ended', async () => {
  const socket = connect(gateway.port, '127.0.0.1');
  let text = '';
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
  });
  const head = [
    ...['POST /v1/audio/transcriptions HTTP/1.1', 'host: x', `authorization: Bearer ${gateway.key}`],
    ...[`content-type: ${type}`, 'content-length: 100000', '', ''],
  ].join('\r\n');
  socket.write(head + fileHead);
  await once(socket, 'close');
  expect(text).toMatch(/^HTTP\/1\.1 408 /);
});

test('a node that refuses a form before it has read it', async () => {
  node.respondWith('*', {
    kind: 'beforeBody',
    next: { kind: 'answer', status: 413, body: { error: { message: 'too long', type: 'x', code: 'y' } } },
  });
  const answer = await post(formOf(8 * mib));
  expect([answer.status, await answer.json()]).toMatchObject([413, { error: { message: 'too long' } }]);
});
