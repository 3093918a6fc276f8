import type { LookupAddress } from 'node:dns';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { parseStored } from '../../src/resources/parse.ts';
import type { Lookup } from '../../src/upstream/connect.ts';
import { listModels } from '../../src/upstream/list-models.ts';
import { Pools } from '../../src/upstream/pools.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { connectionTo, exchange } from '../unit/upstream/exchanges.ts';

// A person who may edit nodes chooses the addresses that the gateway and the controller connect to. No such address may reach
// the metadata service of the cloud, or in a cluster the loopback of the pod.

/** Stands for what must not be reached; on loopback, which the rules of a cluster forbid. */
let canary: Server;
let port: number;
let reached: string[] = [];

beforeAll(async () => {
  canary = createServer((request, response) => {
    reached.push(request.url ?? '');
    response.end('{"data":[]}');
  });
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
  ({ port } = canary.address() as AddressInfo);
});
beforeEach(() => {
  reached = [];
});
afterAll(() => new Promise((resolve) => canary.close(resolve)));

/** What a name stands for; names that are not here are those of literal addresses. */
const names: Readonly<Record<string, string[]>> = {
  'localtest.example': ['127.0.0.1'],
  '127.0.0.1.nip.example': ['127.0.0.1'],
  '169-254-169-254.sslip.example': ['169.254.169.254'],
  'metadata.google.internal': ['169.254.169.254'],
  'instance-data.ec2.internal': ['169.254.169.254', 'fd00:ec2::254'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'zone.example': ['fe80::1%lo'],
  'trailing.example.': ['127.0.0.1'],
  'a_b.example': ['::1'],
};
const lookup: Lookup = (hostname, _options, callback) => {
  const addresses = (names[hostname] ?? []).map(
    (address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }),
  );
  setImmediate(callback, null, addresses);
};

const hosts: readonly [form: string, hosts: readonly string[]][] = [
  ['dotted', ['127.0.0.1', '127.255.255.254', '0.0.0.0', '169.254.169.254', '100.100.100.200']],
  ['one number', ['2130706433', '0x7f000001', '017700000001', '00000000017700000001', '2852039166', '0']],
  ['octal and hexadecimal parts', ['0177.0.0.1', '0x7f.0.0.1', '0x7f.0.0x0.01', '0xa9.0xfe.0xa9.0xfe']],
  ['fewer parts', ['127.1', '127.0.1', '0x7f.1', '169.254.43518', '169.16689662']],
  ['parts beyond a byte', ['127.0.0.257', '127.65536', '256.0.0.1', '127.0.0.0.1']],
  ['zeroes before', ['127.000.000.001', '0177.0000.0.01', '169.254.0169.254']],
  ['a dot behind', ['127.0.0.1.', '2130706433.', '[::1].', 'localhost.', '169.254.169.254..']],
  ['IPv6', ['[::1]', '[0:0:0:0:0:0:0:1]', '[::]', '[0000::0001]', '[::01]']],
  ['IPv4 in IPv6', ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]']],
  ['translated', ['[64:ff9b::127.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2002:a9fe:a9fe::1]']],
  [
    'link-local and metadata',
    ['[fe80::1]', '[febf::1]', '[fd00:ec2::254]', '[fd20:ce::254]', '168.63.129.16'],
  ],
  ['a zone', ['[fe80::1%25lo]', '[fe80::1%lo]', '[::1%25lo]', '[::1%251]']],
  ['somebody before the host', ['api.openai.com@127.0.0.1', 'a:b@[::1]', 'a%40b@127.0.0.1', '@127.0.0.1']],
  [
    'what parsers see in two ways',
    ['127.0.0.1\\@api.openai.com', '127.0.0.1%2f@x', '127.0.0.1#@x', '127.0.0.1?@x', 'x/../@127.0.0.1'],
  ],
  ['digits of other scripts', ['①②⑦.⓪.⓪.①', '１２７.０.０.１', '127。0。0。1', '127．0．0．1', '[::¹]']],
  ['escapes', ['%31%32%37.0.0.1', '127%2e0%2e0%2e1', '127.0.0.1%00.example', 'loc%61lhost']],
  ['blanks', [' 127.0.0.1', '127.0.0.1 ', '127.0.0.1\t', '127.\n0.0.1', '127.0.0.1\u00ad']],
  ['names for it', ['localhost', 'LOCALHOST', 'loCalhost.', ...Object.keys(names)]],
];

/** The pools of a gateway in a cluster. */
function strictPools(host: string): Pools {
  // Names of the machine itself are asked of the machine.
  return new Pools({ rules: { allowLoopback: false }, ...(/^localhost\.?$/i.test(host) ? {} : { lookup }) });
}

const limits = { maxBytes: 1_000_000, maxModels: 100, timeoutMs: 5_000 };

test.each(hosts)('%s: refused by the manifest, or by the connection', async (_form, spellings) => {
  for (const host of spellings) {
    const baseURL = `http://${host}:${port}/v1`;
    const spec = { baseURL };
    const metadata = { namespace: 'default', name: 'n', uid: 'n' };
    const parsed = parseStored({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'UpstreamNode',
      metadata,
      spec,
    });
    // What the manifest's rules refuse is tried all the same, where a URL can be made of it: they are not the only wall.
    const isDeclared = !('problems' in parsed);
    if (!URL.canParse(baseURL)) {
      expect(isDeclared, host).toBe(false);
      continue;
    }
    const goesElsewhere = !isDeclared && new URL(baseURL).hostname.endsWith('openai.com');
    if (goesElsewhere) continue;
    const pools = strictPools(host);
    const connection = connectionTo(port, { baseURL });
    const heard = exchange(pools.pool('n', connection), connection);
    await heard.finished;
    const codes = heard.errors.map(({ code }) => code);
    expect({ host, codes }).toEqual({ host, codes: [expect.stringMatching(/^(?:forbidden_address|dns)$/)] });
    const listed = await listModels(
      pools.pool('n', connection),
      connection,
      limits,
      AbortSignal.timeout(5_000),
    );
    expect(listed).toMatchObject({ kind: 'failed', error: { code: codes[0] } });
    await pools.destroy();
  }
  expect(reached).toEqual([]);
});

test('the canary sings where loopback is allowed, so that its silence means something', async () => {
  for (const host of ['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', '127.0.0.1.nip.example']) {
    const pools = new Pools({ rules: { allowLoopback: true }, lookup });
    const connection = connectionTo(port, { baseURL: `http://${host}:${port}/v1` });
    const heard = exchange(pools.pool('n', connection), connection);
    await heard.finished;
    expect(heard.status, host).toBe(200);
    await pools.destroy();
  }
  expect(reached).toHaveLength(4);
});

test('rebinding: each connection is judged by the very addresses that it is opened to', async () => {
  // Good when asked first, bad the second time, in turns: a check that asked on its own would see the good one.
  let asked = 0;
  const turning: Lookup = (_hostname, _options, callback) => {
    asked += 1;
    setImmediate(callback, null, [{ address: asked % 2 === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }]);
  };
  const pools = new Pools({ rules: { allowLoopback: true }, lookup: turning });
  const outcomes: (number | string | undefined)[] = [];
  for (let count = 0; count < 10; count += 1) {
    const connection = connectionTo(port, { baseURL: `http://turning.example:${port}/v1` });
    const heard = exchange(pools.pool(`n${count}`, connection), connection);
    await heard.finished;
    outcomes.push(heard.status ?? heard.errors[0]?.code);
  }
  await pools.destroy();
  expect(asked).toBe(10);
  expect(outcomes).toEqual(Array.from({ length: 5 }, () => [200, 'forbidden_address']).flat());
});

test('no answer of a node makes the gateway contact another address', async () => {
  const gateway: GatewayUnderTest = await startGateway({ limits: { attempts: 1 } });
  const upstream = await gateway.addNode('n', { spec: { nativeFormats: ['Messages'] } });
  await gateway.addNode('c', { spec: { manualModels: ['c'], baseURL: upstream.url } });
  const target = `127.0.0.1:${port}/stolen`;
  for (const status of [300, 301, 302, 303, 305, 307, 308]) {
    for (const location of [`http://${target}`, `//${target}`, `/stolen`]) {
      const headers = {
        location,
        refresh: `0; url=http://${target}`,
        'alt-svc': `h2="${target}"`,
        'content-location': location,
      };
      const redirect = { kind: 'answer' as const, status, headers, body: {} };
      for (const path of ['/chat/completions', '/messages', '/models'] as const)
        upstream.respondWith(path, redirect);
      for (const model of ['m', 'c']) {
        const body = { model, max_tokens: 1, messages: [{ role: 'user', content: 'a' }] };
        const told = await gateway.post(model === 'm' ? '/chat/completions' : '/messages', body, {
          redirect: 'manual',
        });
        expect([told.status, told.headers.get('location'), told.headers.get('refresh')]).toEqual([
          502,
          null,
          null,
        ]);
        expect(await told.text()).not.toContain('stolen');
      }
      const connection = connectionTo(upstream.port, { baseURL: upstream.url });
      const pools = new Pools({ rules: { allowLoopback: true } });
      const pool = pools.pool('n', connection);
      expect(await listModels(pool, connection, limits, AbortSignal.timeout(5_000))).toMatchObject({
        kind: 'status',
        status,
      });
      await pools.destroy();
    }
  }
  expect(reached).toEqual([]);
  expect(upstream.requests.filter(({ path }) => path.includes('stolen'))).toEqual([]);
  await gateway.close();
});
