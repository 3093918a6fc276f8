import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readTlsPair } from '../../src/tls/tls-pair.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { rawExchange } from '../support/raw-http.ts';
import { keyWithHash, manifest, startStandalone } from '../support/standalone.ts';
import { tlsFile } from '../support/tls-file.ts';

// `localhost` has an IPv4 and an IPv6 address, and callers use either.
const families = ['127.0.0.1', '::1'] as const;
const body = '{"model":"m","messages":[]}';

let gateway: GatewayUnderTest;
beforeEach(async () => {
  gateway = await startGateway({ host: 'localhost', logLevel: 'error' });
  await gateway.addNode('n');
});
afterEach(() => gateway.close());

describe.for(families)('localhost by %s', (host) => {
  const head = (line: string, ...fields: string[]): string =>
    [
      `POST /v1/chat/completions ${line}`,
      `authorization: Bearer ${gateway.key}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      ...fields,
      '\r\n',
    ].join('\r\n');
  const ask = (text: string, more = '') =>
    rawExchange(
      gateway.port,
      (socket) => {
        socket.write(text);
        if (more !== '') socket.once('data', () => socket.write(more));
      },
      1_000,
      host,
    );

  test('a request without Host is refused with a word about why', async () => {
    const answer = await ask(head('HTTP/1.1', 'connection: close') + body);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('no Host header');
  });

  test('a body is asked for once, and only with a good key', async () => {
    const waiting = head('HTTP/1.1', 'host: localhost', 'expect: 100-continue', 'connection: close');
    expect(await ask(waiting, body)).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /);
    expect(await ask(waiting.replace(gateway.key, 'nope'))).toMatch(/^HTTP\/1.1 401 /);
  });

  test('a caller of HTTP/1.0 is sent no 100', async () => {
    expect(await ask(head('HTTP/1.0', 'expect: 100-continue') + body)).toMatch(/^HTTP\/1.1 200 /);
  });

  test('an upgrade is not made, and the request answered', async () => {
    for (const to of ['websocket', 'h2c']) {
      const fields = ['host: localhost', 'connection: upgrade, close', `upgrade: ${to}`];
      expect(await ask(head('HTTP/1.1', ...fields) + body), to).toMatch(/^HTTP\/1.1 200 /);
    }
  });

  test('what is sent behind a last answer does not cost it', async () => {
    const last = head('HTTP/1.1', 'host: localhost', 'connection: close') + body;
    expect(await ask(last + 'x'.repeat(1_000_000))).toMatch(/^HTTP\/1.1 200 [\s\S]*\}$/);
  });

  test('a drain lets an idle connection ask once more, and takes no new one', async () => {
    const socket = connect(gateway.port, host);
    await once(socket, 'connect');
    const drained = gateway.gateway.drain(5_000, 200);
    let answer = '';
    socket.on('data', (piece: Buffer) => {
      answer += piece.toString();
    });
    socket.write(head('HTTP/1.1', 'host: localhost') + body);
    await once(socket, 'close');
    expect(answer).toMatch(/^HTTP\/1.1 200 [\s\S]*connection: close/i);
    await drained;
    const late = connect(gateway.port, host);
    await expect(once(late, 'connect')).rejects.toThrow('ECONNREFUSED');
  });
});

test('both addresses of localhost take a new certificate', async () => {
  const pairs = await Promise.all(
    [1, 2].map((n) => readTlsPair({ cert: tlsFile(`server${n}.crt`), key: tlsFile(`server${n}.key`) })),
  );
  const [first, second] = pairs;
  if (first === undefined || second === undefined) throw new Error('no pairs');
  const secure = await startGateway({ host: 'localhost', logLevel: 'error', tls: first });
  const serials = () =>
    Promise.all(
      families.map(async (host) => {
        const socket = connectTls({ port: secure.port, host, rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        const { serialNumber } = socket.getPeerCertificate();
        socket.destroy();
        return serialNumber;
      }),
    );
  const { serialNumber: one } = first.certificate;
  const { serialNumber: two } = second.certificate;
  expect(one).not.toBe(two);
  expect(await serials()).toEqual([one, one]);
  secure.gateway.setTlsPair(second);
  expect(await serials()).toEqual([two, two]);
  await secure.close();
});

test('standalone mode serves localhost by TLS, at both of its addresses', async () => {
  const key = keyWithHash();
  await using standalone = await startStandalone({
    manifests: { 'key.yaml': manifest('APIKey', 'app', { hash: key.hash }) },
    flags: [
      ...['--listen', 'localhost:0', '--admin-listen', 'localhost:0'],
      ...['--tls-cert', tlsFile('server1.crt'), '--tls-key', tlsFile('server1.key')],
    ],
  });
  const serving = standalone.log().find(({ msg }) => msg === 'Serving');
  expect(serving?.['baseURL']).toBe(`https://localhost:${standalone.port}/v1`);
  const request = `GET /v1/models HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key.text}\r\nconnection: close\r\n\r\n`;
  for (const host of families) {
    const socket = connectTls({ port: standalone.port, host, rejectUnauthorized: false });
    socket.write(request);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
    const probe = 'GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';
    const port = Number(new URL(standalone.admin).port);
    expect(await rawExchange(port, probe, 3_000, host)).toMatch(/^HTTP\/1.1 200 /);
  }
});
