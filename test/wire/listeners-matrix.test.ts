import { channel } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminPaths, startAdminServer } from '../../src/observe/admin-server.ts';
import { readTlsPair, type TlsPair } from '../../src/tls/tls-pair.ts';
import { startConsoleHere } from '../support/console-here.ts';
import { startGateway } from '../support/gateway.ts';
import { askPipelined, type RawRequest } from '../support/pipelined.ts';
import { spellings } from '../support/spellings.ts';
import { manifest } from '../support/standalone.ts';
import { tlsFile } from '../support/tls-file.ts';

// Sends requests with every method, and without or with wrong credentials, to every route of every router. New routes are
// included automatically.

/** In names and models of everything that is declared: nobody without a right to it may read it. */
const planted = 'planted-for-the-matrix';
/**
 * What anybody may ask, as method and route, or as method and target: whether a gateway is there (`*` and a fragment mean `/`),
 * probes and metrics, and the files of the console's page.
 */
const open: Readonly<Record<Listener['kind'], RegExp>> = {
  traffic: /^HEAD (?:\/|\*|\/#.*)$/,
  admin: /^(?:GET|HEAD) \/(?:livez|readyz|metrics)$/,
  console: /^(?:GET|HEAD) \/page\/style\.css\?/,
};
/** Refusals; 0 is a connection that is closed. */
const refusals = [0, 400, 401, 403, 404, 405, 411, 415, 417, 501];

const kept = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'PURGE',
];
/** node:http closes the connection at these. */
const closing = ['CONNECT', 'FOO', 'get'];

interface Route {
  readonly method: string;
  readonly path: string;
}

interface Listener extends AsyncDisposable {
  readonly kind: 'traffic' | 'admin' | 'console';
  readonly name: string;
  readonly routes: readonly Route[];
  readonly open: () => Socket;
  /** What a caller writes into `Host`, the first being right. */
  readonly hosts: readonly (string | undefined)[];
  /** Header fields of credentials that open nothing here, by what they are. `undefined` where a route's own is meant. */
  credentials(route: Route): Readonly<Record<string, readonly string[]>>;
  /** Further targets of the same route. */
  readonly suffixes: readonly string[];
  /** Requests by the right credential, which must be answered. */
  readonly good: readonly RawRequest[];
  /** Of every request, so that it gets as far as it can. */
  readonly fields: readonly string[];
}

const places = ['127.0.0.1', 'localhost', '::'] as const;
type Place = (typeof places)[number];
let pair: TlsPair;

/** The routes of the fastify instances that are made while `start` runs. */
async function withRoutes<T>(start: () => Promise<T>): Promise<{ started: T; routes: Route[] }> {
  const routes: Route[] = [];
  const note = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const each of [method].flat()) routes.push({ method: each, path: url });
    });
  };
  const initialization = channel('fastify.initialization');
  initialization.subscribe(note);
  try {
    return { started: await start(), routes };
  } finally {
    initialization.unsubscribe(note);
  }
}

function opener(place: Place, port: number, isTls: boolean): () => Socket {
  let count = 0;
  return () => {
    count += 1;
    // By either family where there are two.
    const host = place === '127.0.0.1' || count % 2 === 0 ? '127.0.0.1' : '::1';
    return isTls ? connectTls({ host, port, rejectUnauthorized: false }) : connect(port, host);
  };
}

async function traffic(place: Place, isTls: boolean): Promise<Listener> {
  const { started: gateway, routes } = await withRoutes(() =>
    startGateway({ host: place, logLevel: 'error', ...(isTls ? { tls: pair } : {}) }),
  );
  gateway.setNode(planted, { baseURL: 'http://127.0.0.1:1/v1', manualModels: [planted] });
  const spec = { displayName: planted };
  const key = (kind: 'APIKey' | 'MasterKey', more: object = {}, namespace = 'default'): string[] => [
    `authorization: Bearer ${gateway.addKey({ ...(namespace === 'default' ? spec : {}), ...more }, { kind, namespace })}`,
  ];
  const past = { expirationTime: '2020-01-01T00:00:00Z' };
  const never = key('APIKey')[0]?.replace(/.{12}$/, 'AAAAAAAAAAAA') ?? '';
  const byKind = (kind: 'APIKey' | 'MasterKey') => ({
    none: [],
    wrong: [never],
    'of another scheme': ['authorization: Basic dXNlcjp3b3Jk'],
    expired: key(kind, past),
    disabled: key(kind, { enabled: false }),
    'of the other kind': key(kind === 'APIKey' ? 'MasterKey' : 'APIKey'),
    'of another namespace': key(kind, {}, 'elsewhere'),
  });
  const credentials = { APIKey: byKind('APIKey'), MasterKey: byKind('MasterKey') };
  const [api = '', master = ''] = [...key('APIKey'), ...key('MasterKey')];
  const good = (method: string, target: string, field: string): RawRequest => ({
    method,
    target,
    version: '1.1',
    fields: ['host: x', field],
    body: '',
  });
  return {
    kind: 'traffic',
    name: `traffic on ${place}${isTls ? ', TLS' : ''}`,
    routes,
    open: opener(place, gateway.port, isTls),
    hosts: [`localhost:${gateway.port}`, undefined, 'elsewhere.example', 'localhost', 'LOCALHOST'],
    credentials: ({ path }) => credentials[path.startsWith('/v1/keys') ? 'MasterKey' : 'APIKey'],
    suffixes: [],
    fields: [],
    good: [
      good('GET', '/v1/models', api),
      good('GET', '/v1/%6dodels', api),
      good('GET', '/v1/keys', master),
      good('HEAD', '/', 'x: y'),
    ],
    [Symbol.asyncDispose]: () => gateway.close(),
  };
}

async function admin(place: Place): Promise<Listener> {
  const { address, close } = await startAdminServer({
    host: place,
    port: 0,
    registry: new Registry(),
    unready: () => undefined,
  });
  return {
    kind: 'admin',
    name: `admin on ${place}`,
    routes: adminPaths.map((path) => ({ method: 'GET', path })),
    open: opener(place, address.port, false),
    hosts: [`localhost:${address.port}`, undefined, 'elsewhere.example', 'LOCALHOST'],
    credentials: () => ({ none: [] }),
    suffixes: [],
    fields: [],
    good: [{ method: 'GET', target: '/livez', version: '1.1', fields: ['host: x'], body: '' }],
    [Symbol.asyncDispose]: close,
  };
}

async function consoleOn(place: Place, isTls: boolean): Promise<Listener> {
  const idleMs = 60_000;
  let nowMs = Date.now();
  const node = manifest('UpstreamNode', planted, { baseURL: 'http://127.0.0.1:1/v1' });
  const options = {
    host: place,
    names: ['Console.Example'],
    idleMs,
    now: () => nowMs,
    // As behind the default port: browsers leave it out.
    ...(isTls ? { tls: pair, frontPort: 443 } : {}),
  };
  const { started: own, routes } = await withRoutes(() => startConsoleHere({ 'node.yaml': node }, options));
  const other = await startConsoleHere({}, options);
  const right = isTls ? 'console.example' : `console.example:${own.port}`;
  const origin = `${isTls ? 'https' : 'http'}://${right}`;
  const signIn = async (console: typeof own, address: string, host: string) => {
    const { search } = new URL(address);
    const request = {
      method: 'GET',
      target: `/${search}`,
      version: '1.1',
      fields: [`host: ${host}`],
      body: '',
    } as const;
    const got = await askHead(opener(place, console.port, isTls)(), request);
    const [, name = '', value = ''] = /^set-cookie: ([^=]+)=([^;]+)/im.exec(got) ?? [];
    if (value === '') throw new Error(`not signed in: ${got}`);
    return { name, value };
  };
  const expired = await signIn(own, own.newAddress(), right);
  nowMs += idleMs + 1;
  const used = own.newAddress();
  const { name, value } = await signIn(own, used, right);
  const elsewhere = await signIn(other, other.newAddress(), isTls ? right : `console.example:${other.port}`);
  const credentials = {
    none: [],
    wrong: [`cookie: ${name}=${'A'.repeat(43)}`],
    'cut off': [`cookie: ${name}=${value.slice(0, -1)}`],
    'of another name': [`cookie: session=${value}`],
    expired: [`cookie: ${name}=${expired.value}`],
    'of another console': [`cookie: ${name}=${elsewhere.value}; ${elsewhere.name}x=${elsewhere.value}`],
    'of the other kind': [`authorization: Bearer ${value}`],
  };
  const good = (method: string, target: string, host = right): RawRequest => ({
    method,
    target,
    version: '1.1',
    fields: [`host: ${host}`, `cookie: ${name}=${value}`],
    body: '',
  });
  return {
    kind: 'console',
    name: `console on ${place}${isTls ? ', TLS' : ''}`,
    routes,
    open: opener(place, own.port, isTls),
    hosts: [
      right,
      undefined,
      'elsewhere.example',
      isTls ? 'console.example:443' : 'console.example',
      right.toUpperCase(),
    ],
    credentials: () => credentials,
    suffixes: [new URL(used).search],
    fields: [`origin: ${origin}`, 'sec-fetch-site: same-origin'],
    good: [
      good('GET', '/api/place'),
      good('GET', '/%61pi/place'),
      good('GET', '/nodes'),
      good('HEAD', '/nodes'),
      good('GET', `/api/resources/UpstreamNode/default/${planted}`),
      good('GET', '/api/place', right.toUpperCase()),
    ],
    async [Symbol.asyncDispose]() {
      await Promise.all([own[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
    },
  };
}

/** The head of the answer to one request. */
function askHead(socket: Socket, { method, target, fields }: RawRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('error', reject).on('data', (piece: Buffer) => {
      text += piece.toString('latin1');
      if (!text.includes('\r\n\r\n')) return;
      socket.destroy();
      resolve(text.slice(0, text.indexOf('\r\n\r\n')));
    });
    socket.write(`${[`${method} ${target} HTTP/1.1`, ...fields].join('\r\n')}\r\n\r\n`);
  });
}

interface Cell {
  readonly request: RawRequest;
  /** What the target means. */
  readonly route: Route;
  readonly credential: string;
  readonly words: string;
}

/** An example of a route's path. */
function example(path: string): string {
  return path
    .replace(':kind', 'UpstreamNode')
    .replace(':namespace', 'default')
    .replace(/:name|:id|\*/, planted);
}

/**
 * Each route × method × spelling, first without a credential; then once more with the credentials, the names, the versions
 * and what is behind the path taking turns, so that each of them meets each of the others.
 */
function* cellsOf(listener: Listener): Generator<Cell> {
  const paths = [...new Set(listener.routes.map(({ path }) => path)), '/', '/nothing', '/api', '/v1'];
  let turn = 0;
  const next = <T>(list: readonly T[], step: number): T => list[Math.floor(turn / step) % list.length] as T;
  const cell = (method: string, path: string, spelling: string, isPlain: boolean): Cell => {
    const credentials = Object.entries(listener.credentials({ method, path }));
    const [credential, fields] = isPlain ? (['none', []] as const) : next(credentials, 1);
    const host = isPlain ? listener.hosts[0] : next(listener.hosts, credentials.length);
    const suffix = isPlain ? '' : next(['', ...listener.suffixes], 1);
    const version = !isPlain && turn % 13 === 0 ? '1.0' : '1.1';
    const spelled = spellings[spelling]?.(example(path), listener.hosts[0] ?? '') ?? path;
    const hostField = host === undefined ? [] : [`host: ${host}`];
    const body = method === 'POST' || method === 'PUT' ? '{"wishes":{"newKey":true}}' : '';
    const request = { method, target: spelled + suffix, version, body } as const;
    turn += 1;
    return {
      request: { ...request, fields: [...hostField, ...listener.fields, ...fields] },
      route: { method, path },
      credential,
      words: `${listener.name}: ${method} ${request.target} HTTP/${version}, Host ${host}, credential ${credential}`,
    };
  };
  for (const isPlain of [true, false]) {
    for (const path of paths) {
      for (const spelling of Object.keys(spellings))
        for (const method of kept) yield cell(method, path, spelling, isPlain);
      for (const spelling of ['plain', 'absolute form', 'authority form']) {
        for (const method of closing) yield cell(method, path, spelling, isPlain);
      }
    }
  }
}

/** Why an answer is wrong; undefined when it is right. */
function fault({ kind }: Listener, cell: Cell, status: number, body: string): string | undefined {
  if (body.includes(planted) && !cell.request.target.includes(planted)) return 'holds what was planted';
  if (refusals.includes(status)) return undefined;
  if (status < 200 || status > 299) return 'is no refusal';
  if (cell.credential === 'of another namespace') return undefined;
  const { method, path } = cell.route;
  const isOpen = [path, cell.request.target].some((asked) => open[kind].test(`${method} ${asked}`));
  return isOpen ? undefined : 'was let in';
}

const listeners: Listener[] = [];
beforeAll(async () => {
  pair = await readTlsPair({ cert: tlsFile('server1.crt'), key: tlsFile('server1.key') });
});
afterAll(async () => {
  for (const listener of listeners) await listener[Symbol.asyncDispose]();
});

const starts: Readonly<Record<string, () => Promise<Listener>>> = Object.fromEntries(
  places.flatMap((place) => [
    [`traffic on ${place}`, () => traffic(place, false)],
    [`traffic on ${place}, TLS`, () => traffic(place, true)],
    [`admin on ${place}`, () => admin(place)],
    [`console on ${place}`, () => consoleOn(place, false)],
    [`console on ${place}, TLS`, () => consoleOn(place, true)],
  ]),
);

describe.for(Object.keys(starts))('%s', (name) => {
  test('answers nothing without its own credential, and everything with it', async () => {
    const listener = await (starts[name] as () => Promise<Listener>)();
    listeners.push(listener);
    expect(listener.routes.length).toBeGreaterThan(2);
    // Of further listeners a part, which is another one for each: their servers are made by the same function.
    const all = [...cellsOf(listener)];
    const cells = name.endsWith('on 127.0.0.1')
      ? all
      : all.filter((_, at) => at % 7 === listeners.length % 7);
    const answers = await askPipelined(
      listener.open,
      cells.map(({ request }) => request),
    );
    const faults = cells.flatMap((cell, at) => {
      const { status = -1, body = '' } = answers[at] ?? {};
      const why = fault(listener, cell, status, body);
      return why === undefined ? [] : [`${status} ${why}: ${cell.words}`];
    });
    expect(faults.slice(0, 20)).toEqual([]);
    const good = await askPipelined(listener.open, listener.good);
    expect(good.map(({ status }) => status)).toEqual(listener.good.map(() => 200));
  });
});
