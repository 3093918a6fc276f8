import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { checkHealth, type ListOutcome, listModels } from '../../../src/upstream/list-models.ts';
import { Pools } from '../../../src/upstream/pools.ts';
import { answer, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { connectionTo, until } from './exchanges.ts';

const pools = new Pools({ rules: { allowLoopback: true } });
afterAll(() => pools.destroy());

const limits = { maxBytes: 1024 * 1024, maxModels: 1000, timeoutMs: 20_000 };
const ok = 'HTTP/1.1 200 OK';
const signal = (): AbortSignal => new AbortController().signal;

async function list(
  script: (socket: Socket, request: string) => void,
  change: Partial<typeof limits> = {},
): Promise<ListOutcome> {
  await using server = await scriptedUpstream((socket, _c, _r, text) => script(socket, text));
  const connection = connectionTo(server.port);
  const pool = pools.pool(`list ${server.port}`, connection);
  return await listModels(pool, connection, { ...limits, ...change }, signal());
}

function bytes(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${ok}\r\ncontent-length: ${body.length}\r\n\r\n`), body]);
}

const models = (names: string[], skipped = 0, truncated = false) => ({
  kind: 'models',
  names,
  windows: new Map(),
  skipped,
  truncated,
});

describe.concurrent('listModels', () => {
  test.each<[string, unknown, object]>([
    ['OpenAI', { object: 'list', data: [{ id: 'b' }, { id: 'a/x:1' }] }, models(['b', 'a/x:1'])],
    ['Ollama', { models: [{ name: 'llama3:8b', model: 'x' }] }, models(['llama3:8b'])],
    ['a bare list of objects', [{ id: 'a' }], models(['a'])],
    ['a bare list of strings', ['a', 'b'], models(['a', 'b'])],
    ['repetitions', { data: [{ id: 'a' }, { id: 'a' }] }, models(['a'])],
    ['an empty list', { data: [] }, models([])],
    ['a name beside an unusable id', { data: [{ id: 7, name: 'a' }] }, models(['a'])],
    [
      'unusable entries',
      [
        'a',
        '',
        '*',
        ' b',
        'c\n',
        'd\u0000',
        'x'.repeat(513),
        7,
        null,
        {},
        [],
        '\ud800',
        { __proto__: { id: 'e' } },
      ],
      models(['a'], 12),
    ],
    ['a name of 512 characters', ['x'.repeat(512)], models(['x'.repeat(512)])],
    ['too many', Array.from({ length: 1001 }, (_, i) => `m${i}`), { truncated: true }],
    ['exactly as many as allowed', Array.from({ length: 1000 }, (_, i) => `m${i}`), { truncated: false }],
    ['an object that is no list', { error: { message: 'planted' } }, { kind: 'invalid' }],
    ['no usable entry', [{ title: 'a' }], { kind: 'invalid' }],
    ['a string', 'planted', { kind: 'invalid' }],
    ['null', null, { kind: 'invalid' }],
    ['data that is no list', { data: { id: 'a' } }, { kind: 'invalid' }],
  ])('%s', async (_name, body, expected) => {
    const outcome = await list((socket) => void socket.write(answer(JSON.stringify(body))));
    expect(outcome).toMatchObject(expected);
    if (outcome.kind === 'invalid') expect(outcome.message).not.toContain('planted');
  });

  test.each<[string, () => Buffer, RegExp]>([
    ['invalid UTF-8', () => Buffer.from('["a\xff"]', 'latin1'), /not UTF-8/],
    ['a cut sequence', () => Buffer.from('["\xe2\x82', 'latin1'), /not UTF-8/],
    ['cut JSON', () => Buffer.from('{"data":[{"id":"a"}'), /not JSON/],
    ['nothing', () => Buffer.alloc(0), /not JSON/],
    ['gzip that is not declared', () => gzipSync('["a"]'), /not UTF-8/],
    [
      'JSON nested 300,000 deep',
      () => Buffer.from('['.repeat(300_000) + ']'.repeat(300_000)),
      /usable|not JSON/,
    ],
    ['unfinished nesting', () => Buffer.from('{"data":'.repeat(100_000)), /not JSON/],
  ])('%s is invalid', async (_name, body, message) => {
    const outcome = await list((socket) => void socket.write(bytes(body())));
    expect(outcome).toMatchObject({ kind: 'invalid', message: expect.stringMatching(message) });
  });

  test('asks with a version, which Anthropic wants', async () => {
    let asked = '';
    await list((socket, request) => {
      asked = request;
      socket.end(bytes(Buffer.from('{"data":[]}')));
    });
    expect(asked.toLowerCase()).toContain('\r\nanthropic-version: 2023-06-01\r\n');
  });

  test('a byte order mark is no fault', async () => {
    expect(await list((socket) => void socket.write(bytes(Buffer.from('\ufeff["a"]'))))).toEqual(
      models(['a']),
    );
  });

  test('declared gzip and HTML are named', async () => {
    const zipped = await list((socket) => {
      socket.write(`${ok}\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n[]`);
    });
    expect(zipped).toMatchObject({ kind: 'invalid', message: expect.stringContaining('compressed') });
    const page = await list((socket) => {
      socket.write(answer('<html>planted</html>', ok, 'content-type: text/html; charset=utf-8'));
    });
    expect(page).toMatchObject({ kind: 'invalid', message: expect.stringContaining('web page') });
  });

  test('an endless body stops at maxBytes', async () => {
    let socket: Socket | undefined;
    const outcome = await list((opened) => {
      socket = opened;
      opened.write(`${ok}\r\ntransfer-encoding: chunked\r\n\r\n`);
      const write = (): void => {
        while (!opened.destroyed && opened.write(`400\r\n${' '.repeat(1024)}\r\n`));
      };
      opened.on('drain', write);
      write();
    });
    expect(outcome).toMatchObject({
      kind: 'invalid',
      message: 'the model list is larger than 1048576 bytes',
    });
    await until(() => socket?.destroyed === true);
  });

  test('a million models stop at maxBytes, or at maxModels', async () => {
    const body = JSON.stringify({ data: Array.from({ length: 1_000_000 }, (_, i) => ({ id: `m${i}` })) });
    expect(await list((socket) => void socket.write(answer(body)))).toMatchObject({ kind: 'invalid' });
    const outcome = await list((socket) => void socket.write(answer(body)), { maxBytes: 64 * 1024 * 1024 });
    expect(outcome).toMatchObject({ kind: 'models', truncated: true, names: { length: 1000 } });
  });

  test.each([
    ['HTTP/1.1 404 Not Found', [], { kind: 'status', status: 404 }],
    ['HTTP/1.1 301 Moved', ['location: http://127.0.0.1:1/'], { kind: 'status', status: 301 }],
    ['HTTP/1.1 304 Not Modified', [], { kind: 'status', status: 304 }],
    ['HTTP/1.1 429 Slow', ['retry-after: 7'], { kind: 'status', status: 429, retryAfterSeconds: 7 }],
    ['HTTP/1.1 401 No', ['www-authenticate: Bearer'], { kind: 'status', status: 401 }],
  ])('%s', async (line, fields, expected) => {
    expect(await list((socket) => void socket.write(answer('', line, ...fields)))).toEqual(expected);
  });

  test('a refusal whose body breaks off, or never ends, is still that status', async () => {
    const cut = (socket: Socket): void => void socket.end('HTTP/1.1 503 No\r\ncontent-length: 9\r\n\r\na');
    expect(await list(cut)).toEqual({ kind: 'status', status: 503 });
    const open = (socket: Socket): void => void socket.write('HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\na');
    expect(await list(open, { timeoutMs: 1_000 })).toEqual({ kind: 'status', status: 500 });
  });

  test('a list that breaks off, or is too slow, has failed', async () => {
    const cut = await list((socket) => void socket.end(`${ok}\r\ncontent-length: 9\r\n\r\n[`));
    expect(cut).toMatchObject({ kind: 'failed', error: { code: 'reset', answered: true } });
    const slow = await list((socket) => void socket.write(`${ok}\r\ncontent-length: 9\r\n\r\n[`), {
      timeoutMs: 1_000,
    });
    expect(slow).toMatchObject({ kind: 'failed', error: { code: 'total_timeout', answered: true } });
    const silent = await list(() => undefined, { timeoutMs: 100 });
    expect(silent).toMatchObject({ kind: 'failed', error: { code: 'total_timeout', answered: false } });
  });

  test('pages are followed and bounded together', async () => {
    const page = (names: string[], more: boolean): string =>
      answer(JSON.stringify({ data: names.map((id) => ({ id })), has_more: more, last_id: names.at(-1) }));
    const paths: string[] = [];
    const two = await list((socket, request) => {
      paths.push(request.split(' ')[1] ?? '');
      socket.write(paths.length === 1 ? page(['a', 'b&c'], true) : page(['d'], false));
    });
    expect(two).toEqual(models(['a', 'b&c', 'd']));
    expect(paths).toEqual(['/v1/models', '/v1/models?limit=1000&after_id=b%26c']);
    expect(await list((socket) => void socket.write(page(['a'], true)))).toEqual(models(['a']));
    let count = 0;
    const endless = (socket: Socket): void => {
      count += 1;
      socket.write(page([`m${count}`], true));
    };
    expect(await list(endless)).toMatchObject({ truncated: true, names: { length: 20 } });
    expect(await list(endless, { maxModels: 5 })).toMatchObject({ truncated: true, names: { length: 5 } });
    expect(await list(endless, { maxBytes: 200 })).toMatchObject({ kind: 'invalid' });
    expect(
      await list((socket) => socket.write(count++ % 2 ? answer('', 'HTTP/1.1 500 No') : page(['a'], true))),
    ).toMatchObject({ kind: 'status' });
  });

  test('the signal ends it at once, with its reason', async () => {
    await using server = await scriptedUpstream(() => undefined);
    const connection = connectionTo(server.port);
    const pool = pools.pool('signal', connection);
    const controller = new AbortController();
    const listing = listModels(pool, connection, limits, controller.signal);
    await until(() => server.requests.length === 1);
    controller.abort(new Error('stopping'));
    await expect(listing).rejects.toThrow('stopping');
    await until(() => server.sockets[0]?.destroyed === true, 100);
    await expect(listModels(pool, connection, limits, controller.signal)).rejects.toThrow('stopping');
    await expect(checkHealth(pool, connection, 100, controller.signal)).rejects.toThrow('stopping');
    expect(server.requests).toHaveLength(1);
  });
});

describe.concurrent('a base URL without its version segment', () => {
  async function outcome(base: string, answers: Readonly<Record<string, Buffer | string>>) {
    const asked: string[] = [];
    await using server = await scriptedUpstream((socket, _c, _r, text) => {
      const path = text.split(' ')[1] ?? '';
      asked.push(`${path} ${/^authorization: (.*)$/im.exec(text)?.[1]}`);
      socket.write(answers[path] ?? 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
    });
    const connection = { ...connectionTo(server.port), credential: 'sk-1' };
    const baseURL = connection.baseURL.replace(/\/v1$/, base);
    const pool = pools.pool(`version ${server.port}`, { ...connection, baseURL });
    const found = await listModels(pool, { ...connection, baseURL }, limits, signal());
    return { found, asked, origin: new URL(baseURL).origin };
  }
  const listing = answer(JSON.stringify({ data: [{ id: 'm' }] }));

  test.each([
    ['', '/v1'],
    ['/', '/v1'],
    ['/openai', '/openai/v1'],
  ])(
    '"%s" with a listing below /v1: 404 and what to set, asked once with the same credential',
    async (base, set) => {
      const { found, asked, origin } = await outcome(base, { [`${set}/models`]: listing });
      expect(found).toEqual({ kind: 'status', status: 404, versionedBaseURL: origin + set });
      expect(asked).toEqual([`${base.replace(/\/$/, '')}/models Bearer sk-1`, `${set}/models Bearer sk-1`]);
    },
  );

  test('a credential that is refused below /v1 shows that something is there', async () => {
    const refusal = 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n';
    const { found, origin } = await outcome('', { '/v1/models': refusal });
    expect(found).toMatchObject({ status: 404, versionedBaseURL: `${origin}/v1` });
  });

  test.each([
    ['nothing below /v1', '', {}, 2],
    ['no list below /v1', '', { '/v1/models': answer('{}') }, 2],
    ['an empty list below /v1', '', { '/v1/models': answer('{"data":[]}') }, 2],
    ['a base URL with a version', '/v2', { '/v1/models': listing }, 1],
  ])('%s: 404 alone', async (_, base, answers, requests) => {
    const { found, asked } = await outcome(base, answers);
    expect(found).toEqual({ kind: 'status', status: 404 });
    expect(asked).toHaveLength(requests);
  });
});

describe.concurrent('checkHealth', () => {
  async function check(script: (socket: Socket) => void, timeoutMs = 20_000): Promise<unknown> {
    await using server = await scriptedUpstream(script);
    const connection = connectionTo(server.port);
    return await checkHealth(
      pools.pool(`health ${server.port}`, connection),
      connection,
      timeoutMs,
      signal(),
    );
  }

  test.each(['200 OK', '404 Not Found', '500 Broken', '302 Found'])('%s', async (line) => {
    const status = Number(line.slice(0, 3));
    expect(await check((socket) => void socket.write(answer('{', `HTTP/1.1 ${line}`)))).toEqual({
      kind: 'status',
      status,
    });
  });

  test('the body is not waited for beyond the time, nor read beyond a mebibyte', async () => {
    const open = (socket: Socket): void => void socket.write(`${ok}\r\ncontent-length: 9\r\n\r\na`);
    expect(await check(open, 1_000)).toEqual({ kind: 'status', status: 200 });
    let socket: Socket | undefined;
    const long = (opened: Socket): void => {
      socket = opened;
      opened.write(`${ok}\r\ncontent-length: 99000000\r\n\r\n`);
      opened.write(Buffer.alloc(4 * 1024 * 1024));
    };
    expect(await check(long)).toEqual({ kind: 'status', status: 200 });
    await until(() => socket?.destroyed === true);
  });

  test('no answer has failed', async () => {
    expect(await check(() => undefined, 100)).toMatchObject({ error: { code: 'total_timeout' } });
    expect(await check((socket) => void socket.end())).toMatchObject({ error: { code: 'reset' } });
  });
});
