import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { UpstreamConnection } from '../../../src/upstream/connection.ts';
import { Pools } from '../../../src/upstream/pools.ts';
import { answer, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { upstreamAuthority, upstreamCertificate } from '../../support/upstream-certificates.ts';
import { connectionTo, exchange, type Heard, until } from './exchanges.ts';

const hello = (socket: Socket): void => void socket.write(answer('hello'));

const pools: Pools[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(pools.splice(0).map((made) => made.destroy()));
});

/** Pools whose names resolve to one list of addresses for each look-up, the last one for all further. */
function poolsKnowing(lists: string[][], allowLoopback = true): { pools: Pools; asked: string[] } {
  const asked: string[] = [];
  const made = new Pools({
    rules: { allowLoopback },
    lookup: (hostname, _options, callback) => {
      const list = lists[Math.min(asked.push(hostname), lists.length) - 1] ?? [];
      const addresses: LookupAddress[] = list.map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
      }));
      setImmediate(callback, null, addresses);
    },
  });
  pools.push(made);
  return { pools: made, asked };
}

async function ask(from: Pools, connection: UpstreamConnection): Promise<Heard> {
  const heard = exchange(from.pool('n', connection), connection);
  await heard.finished;
  return heard;
}

function named(port: number, host = 'models.example', scheme = 'http'): UpstreamConnection {
  return connectionTo(port, { baseURL: `${scheme}://${host}:${port}/v1` });
}

describe('addresses', () => {
  test.each([
    ...[
      '169.254.169.254',
      '2852039166',
      '0xa9fea9fe',
      '0251.0376.0251.0376',
      '169.254.43518',
      '169.254.169.254.',
    ],
    ...[
      '[fe80::1]',
      '[::ffff:169.254.169.254]',
      '[64:ff9b::a9fe:a9fe]',
      '[fd00:ec2::254]',
      '[::]',
      '0',
      '0.0.0.0',
    ],
    ...[
      '100.100.100.200',
      '168.63.129.16',
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '[::1]',
      '017700000001',
    ],
  ])('the literal %s is never contacted', async (host) => {
    const { pools: from, asked } = poolsKnowing([[]], false);
    const heard = await ask(from, named(9, host));
    expect(heard.errors).toMatchObject([{ code: 'forbidden_address', answered: false }]);
    expect(asked).toEqual([]);
  });

  test.each([
    [['169.254.169.254']],
    [['fe80::1%1', '169.254.169.254', '::ffff:100.100.100.200']],
    [['127.0.0.1', '::1']],
    [['no address']],
  ])('a name that resolves to nothing but %j is not contacted', async (addresses) => {
    await using server = await scriptedUpstream(hello);
    const { pools: from } = poolsKnowing([addresses], false);
    const heard = await ask(from, named(server.port));
    expect(heard.errors).toMatchObject([{ code: 'forbidden_address', answered: false }]);
    expect(server.sockets).toHaveLength(0);
  });

  test('localhost by the real resolver is loopback', async () => {
    await using server = await scriptedUpstream(hello);
    const strict = new Pools({ rules: { allowLoopback: false } });
    const open = new Pools({ rules: { allowLoopback: true } });
    pools.push(strict, open);
    const refused = await ask(strict, named(server.port, 'localhost'));
    expect(refused.errors).toMatchObject([{ code: 'forbidden_address' }]);
    expect(await ask(open, named(server.port, 'localhost'))).toMatchObject({ body: 'hello', errors: [] });
  });

  test('of several addresses only the allowed ones are tried, and the next when one refuses', async () => {
    await using server = await scriptedUpstream(hello);
    const { pools: from, asked } = poolsKnowing([['169.254.169.254', '::1', '127.0.0.1']]);
    expect(await ask(from, named(server.port))).toMatchObject({ body: 'hello', errors: [] });
    expect(asked).toEqual(['models.example']);
  });

  test('a name that changes its address afterwards is judged anew by each connection', async () => {
    await using server = await scriptedUpstream((socket) => {
      socket.end(answer('hello', 'HTTP/1.1 200 OK', 'connection: close'));
    });
    const { pools: from, asked } = poolsKnowing([['127.0.0.1'], ['169.254.169.254']]);
    const connection = named(server.port);
    expect(await ask(from, connection)).toMatchObject({ body: 'hello' });
    expect(asked).toHaveLength(1);
    await until(() => from.pool('n', connection).size === 0);
    expect((await ask(from, connection)).errors).toMatchObject([{ code: 'forbidden_address' }]);
    expect(asked).toHaveLength(2);
  });

  test('a name without addresses: dns', async () => {
    const { pools: from } = poolsKnowing([[]]);
    expect((await ask(from, named(9))).errors).toMatchObject([{ code: 'dns' }]);
  });

  test('a stale connection is replaced by one that the rules judge too', async () => {
    await using server = await scriptedUpstream((socket, _connection, request) => {
      if (request === 0) hello(socket);
      else socket.end();
    });
    const { pools: from } = poolsKnowing([['127.0.0.1'], ['169.254.169.254']]);
    const connection = named(server.port);
    await ask(from, connection);
    expect((await ask(from, connection)).errors).toMatchObject([{ code: 'forbidden_address' }]);
  });
});

describe('TLS is verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says', () => {
  const good = { caBundle: upstreamAuthority.own };
  const table: {
    name: string;
    certificate: 'server' | 'name-only' | 'expired';
    host: string;
    tls?: UpstreamConnection['tls'];
    detail?: string;
    sni?: string | false;
  }[] = [
    { name: 'own CA, name', certificate: 'server', host: 'models.example', tls: good, sni: 'models.example' },
    { name: 'own CA, address', certificate: 'server', host: '127.0.0.1', tls: good, sni: false },
    {
      name: 'the certificate is for serverName, not for the host',
      certificate: 'name-only',
      host: '127.0.0.1',
      tls: { ...good, serverName: 'models.example' },
      sni: 'models.example',
    },
    {
      name: 'serverName is an address',
      certificate: 'server',
      host: 'elsewhere.example',
      tls: { ...good, serverName: '127.0.0.1' },
      sni: false,
    },
    {
      name: 'wrong name',
      certificate: 'server',
      host: 'elsewhere.example',
      tls: good,
      detail: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
    {
      name: 'wrong address',
      certificate: 'name-only',
      host: '127.0.0.1',
      tls: good,
      detail: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
    {
      name: 'wrong serverName',
      certificate: 'server',
      host: 'models.example',
      tls: { ...good, serverName: 'elsewhere.example' },
      detail: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
    {
      name: 'expired',
      certificate: 'expired',
      host: 'models.example',
      tls: good,
      detail: 'CERT_HAS_EXPIRED',
    },
    {
      name: "another's CA",
      certificate: 'server',
      host: 'models.example',
      tls: { caBundle: upstreamAuthority.other },
      detail: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    },
    {
      name: "the system's CAs",
      certificate: 'server',
      host: 'models.example',
      detail: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    },
    {
      name: 'a CA bundle that is none',
      certificate: 'server',
      host: 'models.example',
      tls: { caBundle: 'planted' },
    },
  ];
  test.each(table)('$name', async ({ certificate, host, tls, detail, sni }) => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    await using server = await scriptedUpstream(hello, { tls: upstreamCertificate(certificate) });
    const { pools: from } = poolsKnowing([['127.0.0.1']]);
    const connection = { ...named(server.port, host, 'https'), ...(tls ? { tls } : {}) };
    const heard = await ask(from, connection);
    if (sni === undefined) {
      expect(heard.errors).toMatchObject([{ code: 'tls', answered: false }]);
      if (detail) expect(heard.errors[0]?.message).toContain(detail);
      expect(heard.errors[0]?.message).not.toContain('planted');
      expect(server.requests).toHaveLength(0);
    } else {
      expect(heard).toMatchObject({ body: 'hello', errors: [] });
      expect((server.sockets[0] as TLSSocket).servername).toBe(sni);
    }
  });

  test('a resumed TLS session does not avoid the check of the name', async () => {
    await using server = await scriptedUpstream(hello, {
      tls: { ...upstreamCertificate('server'), maxVersion: 'TLSv1.2' },
    });
    const { pools: from } = poolsKnowing([['127.0.0.1']]);
    const connection = { ...named(server.port, 'elsewhere.example', 'https'), tls: good };
    for (let i = 0; i < 3; i += 1)
      expect((await ask(from, connection)).errors).toMatchObject([{ code: 'tls' }]);
  });

  test('sessions are resumed', async () => {
    await using server = await scriptedUpstream(
      (socket) => void socket.end(answer('x', 'HTTP/1.1 200 OK', 'connection: close')),
      { tls: upstreamCertificate('server') },
    );
    const { pools: from } = poolsKnowing([['127.0.0.1']]);
    const connection = { ...named(server.port, 'models.example', 'https'), tls: good };
    expect(await ask(from, connection)).toMatchObject({ body: 'x' });
    await until(() => from.pool('n', connection).size === 0);
    expect(await ask(from, connection)).toMatchObject({ body: 'x' });
    expect((server.sockets[1] as TLSSocket).isSessionReused()).toBe(true);
  });

  test('a server that speaks no TLS, and one that hangs up in the handshake', async () => {
    await using plain = await scriptedUpstream(() => undefined);
    const { pools: from } = poolsKnowing([['127.0.0.1']]);
    const connection = named(plain.port, 'models.example', 'https');
    const waiting = exchange(from.pool('n', connection), connection);
    await until(() => plain.sockets.length === 1);
    plain.sockets[0]?.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    await waiting.finished;
    expect(waiting.errors).toMatchObject([{ code: 'tls', answered: false }]);
    const second = exchange(from.pool('n', connection), connection);
    await until(() => plain.sockets.length === 2);
    plain.sockets[1]?.resetAndDestroy();
    await second.finished;
    expect(second.errors).toMatchObject([{ code: 'tls', answered: false }]);
  });
});
