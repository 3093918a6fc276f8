import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { rawExchange } from '../support/raw-http.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;
const limits = {
  bodyBytes: 100_000,
  bufferedBytes: 250_000,
  bodyIdleMs: 200,
  bodyTotalMs: 600,
  headersMs: 400,
  headerBytes: 8192,
};

beforeAll(async () => {
  gateway = await startGateway({ limits });
  upstream = await gateway.addNode('n', { spec: { nativeFormats: ['Messages'] } });
});
afterAll(async () => {
  // Whatever came before: it still serves, nothing is left over, nothing unexpected was logged.
  expect((await gateway.post('/chat/completions', { model: 'm' })).status).toBe(200);
  await delay(50);
  expect(gateway.gateway.inFlight()).toBe(0);
  expect(gateway.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  await gateway.close();
});

async function expectError(
  answer: Response,
  status: number,
  code: string | null,
  words: RegExp,
): Promise<void> {
  const body = (await answer.json()) as { error: { code: unknown; message: string } };
  expect([answer.status, body.error.code]).toEqual([status, code]);
  expect(body.error.message).toMatch(words);
}

describe('bodies', () => {
  test.each<[string, string | Uint8Array, number, string, RegExp]>([
    ['empty', '', 400, 'invalid_json', /empty/],
    ['broken', '{"model":"m",', 400, 'invalid_json', /ends too early \(byte 13\)/],
    ['not an object', '[1]', 400, 'invalid_json', /object/],
    ['deep', `{"model":"m","a":${'['.repeat(40_000)}${']'.repeat(40_000)}}`, 400, 'invalid_json', /nested/],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 400, 'invalid_json', /UTF-8/],
    ['without a model', '{}', 400, 'missing_required_parameter', /model/],
    ['with two models', '{"model":"m","model":"x"}', 400, 'invalid_value', /exactly one/],
    ['with a model of a wrong type', '{"model":7}', 400, 'invalid_value', /string/],
    ['with stream of a wrong type', '{"model":"m","stream":"x"}', 400, 'invalid_value', /stream/],
    ['too large', `{"model":"m","a":"${'x'.repeat(100_000)}"}`, 413, 'request_too_large', /100000 bytes/],
  ])('%s', async (_name, body, status, code, words) => {
    await expectError(await gateway.post('/chat/completions', body), status, code, words);
  });

  test('too large without a length', async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(Buffer.alloc(20_000, 0x20)),
    });
    const init = {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { authorization: `Bearer ${gateway.key}` },
    };
    await expectError(
      await fetch(`${gateway.baseURL}/chat/completions`, init as RequestInit),
      413,
      'request_too_large',
      /./,
    );
  });

  const good = Buffer.from('{"model":"m","messages":[]}');
  test.each([
    ['gzip', gzipSync(good)],
    ['x-gzip', gzipSync(good)],
    ['deflate', deflateSync(good)],
    ['br', brotliCompressSync(good)],
    ['zstd', zstdCompressSync(good)],
    ['identity', good],
  ])('encoded as %s is decoded, and sent on decoded', async (encoding, body) => {
    const answer = await gateway.post('/chat/completions', body, {
      headers: { 'content-encoding': encoding },
    });
    expect(answer.status).toBe(200);
    const request = upstream.requests.at(-1);
    expect(request?.body).toEqual(good);
    expect(request?.headers['content-encoding']).toBeUndefined();
  });

  test.each<[string, string, Uint8Array, number, string | null]>([
    ['unknown', 'lzma', good, 415, 'unsupported_media_type'],
    ['a list', 'gzip, br', good, 415, 'unsupported_media_type'],
    ['a name of Object', 'constructor', good, 415, 'unsupported_media_type'],
    ['not what it says', 'gzip', good, 400, 'invalid_encoding'],
    ['cut off', 'gzip', gzipSync(good).subarray(0, 20), 400, 'invalid_encoding'],
    ['a gzip bomb', 'gzip', gzipSync(Buffer.alloc(50_000_000)), 413, 'request_too_large'],
    ['a brotli bomb', 'br', brotliCompressSync(Buffer.alloc(50_000_000)), 413, 'request_too_large'],
    ['a zstd bomb', 'zstd', zstdCompressSync(Buffer.alloc(50_000_000)), 413, 'request_too_large'],
  ])('encoding: %s', async (_name, encoding, body, status, code) => {
    const answer = await gateway.post('/chat/completions', body, {
      headers: { 'content-encoding': encoding },
    });
    await expectError(answer, status, code, /./);
  });

  test.each([
    ['application/json; charset=utf-8', 200],
    ['application/vnd.api+json', 200],
    ['application/x-www-form-urlencoded', 415],
    ['text/plain', 415],
    ['application/json; charset=utf-16', 415],
    ['garbage', 415],
  ])('content-type %s: %i', async (type, status) => {
    const answer = await gateway.post(
      '/chat/completions',
      { model: 'm' },
      { headers: { 'content-type': type } },
    );
    expect(answer.status).toBe(status);
  });

  test('in the Anthropic shape on messages', async () => {
    const answer = await gateway.post('/messages?beta=true', '{');
    expect(answer.status).toBe(400);
    const requestId = answer.headers.get('request-id');
    expect(await answer.json()).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.any(String) },
      request_id: requestId,
    });
  });
});

test('a body under another model name is no copy, and leaves as the caller wrote it', async () => {
  const other = await startGateway({ limits: { bufferedBytes: 600_000 } });
  await using _closed = { [Symbol.asyncDispose]: other.close };
  await other.addNode('n', { spec: { models: [{ name: 'm', aliases: ['alias'] }] } });
  for (const length of [1_000, 100_000, 400_000]) {
    const body = { model: 'alias', a: 'x'.repeat(length) };
    for (let i = 0; i < 3; i++) expect((await other.post('/chat/completions', body)).status).toBe(200);
  }
});

function head(method: string, path: string, more: readonly string[] = []): string {
  return [
    `${method} ${path} HTTP/1.1`,
    'host: x',
    `authorization: Bearer ${gateway.key}`,
    ...more,
    '',
    '',
  ].join('\r\n');
}

describe('connections', () => {
  test('a body that stops arriving gets 408', async () => {
    const answer = await rawExchange(
      gateway.port,
      `${head('POST', '/v1/messages', ['content-length: 100'])}{"mo`,
      1000,
    );
    expect(answer).toMatch(/^HTTP\/1.1 408 [\s\S]*"timeout_error","message":"The request body stood still/);
  });

  test('a body that trickles gets 408', async () => {
    const answer = await rawExchange(gateway.port, async (socket) => {
      socket.write(head('POST', '/v1/chat/completions', ['content-length: 100']));
      for (let i = 0; i < 12; i++) {
        await delay(80);
        socket.write(' ');
      }
      socket.destroy();
    });
    expect(answer).toMatch(/^HTTP\/1.1 408 [\s\S]*was not complete/);
  });

  test('a head that trickles gets 408', async () => {
    const answer = await rawExchange(gateway.port, 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n', 3000);
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
  });

  test('garbage gets 400, JSON and a closed connection', async () => {
    const answer = await rawExchange(gateway.port, '\x16\x03\x01 hello\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n[\s\S]*"invalid_request_error"/);
  });

  test('headers that are too large get 431', async () => {
    const answer = await rawExchange(gateway.port, head('GET', '/v1/models', [`x: ${'y'.repeat(20_000)}`]));
    expect(answer).toMatch(/^HTTP\/1.1 431 /);
  });

  test('broken chunks end the request', async () => {
    const answer = await rawExchange(
      gateway.port,
      `${head('POST', '/v1/chat/completions', ['transfer-encoding: chunked'])}zz\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
  });

  test('a refusal reaches a caller that goes on sending', async () => {
    const answer = await rawExchange(gateway.port, async (socket) => {
      socket.pause();
      socket.write(head('POST', '/v1/chat/completions', ['content-length: 3000000', 'connection: close']));
      for (let sent = 0; sent < 3_000_000; sent += 100_000) {
        socket.write(Buffer.alloc(100_000, 0x20));
        await delay(5);
      }
      socket.resume();
    });
    expect(answer).toMatch(/^HTTP\/1.1 413 [\s\S]*request_too_large/);
  });

  test('both lengths at once are refused', async () => {
    const answer = await rawExchange(
      gateway.port,
      `${head('POST', '/v1/chat/completions', ['transfer-encoding: chunked', 'content-length: 3'])}0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
  });

  test('the key is checked before the body is read', async () => {
    const answer = await rawExchange(gateway.port, (socket) => {
      socket.write(
        'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer nope\r\ncontent-length: 99999999\r\n\r\n',
      );
      socket.once('data', () => socket.end());
    });
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
  });

  test('a body is asked for only once the key is good', async () => {
    const expecting = [
      'content-length: 27',
      'content-type: application/json',
      'expect: 100-continue',
      'connection: close',
    ];
    const refused = await rawExchange(
      gateway.port,
      head('POST', '/v1/chat/completions', expecting).replace(gateway.key, 'nope'),
      500,
    );
    expect(refused).toMatch(/^HTTP\/1.1 401 /);
    const asked = await rawExchange(gateway.port, (socket) => {
      socket.write(head('POST', '/v1/chat/completions', expecting));
      socket.once('data', () => socket.write('{"model":"m","messages":[]}'));
    });
    expect(asked).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /);
  });
});

describe('paths and methods', () => {
  test.each([
    ['GET', '/v1/nothing', 404, 'openai'],
    ['GET', '/', 404, 'openai'],
    ['POST', '/chat/completions', 404, 'openai'],
    ['GET', '/v1/responses/resp_1', 404, 'openai'],
    ['POST', '/v1/messages/batches', 404, 'anthropic'],
    ['GET', '/v1/messages', 405, 'anthropic'],
    ['GET', '/v1/chat/completions', 405, 'openai'],
    ['DELETE', '/v1/models', 405, 'openai'],
    ['PUT', '/v1/keys/x', 405, 'openai'],
    ['GET', '/v1/%zz', 400, 'openai'],
  ])('%s %s: %i, %s', async (method, path, status, shape) => {
    const answer = await fetch(`${gateway.origin}${path}`, { method });
    expect(answer.status).toBe(status);
    if (status === 405) expect(answer.headers.get('allow')).toMatch(/POST|GET/);
    const body = (await answer.json()) as Record<string, unknown>;
    expect(body['type']).toBe(shape === 'anthropic' ? 'error' : undefined);
    expect(body['error']).toMatchObject({ message: expect.any(String), type: expect.any(String) });
  });

  test('a path that is not served: the message names those that are', async () => {
    const answer = await fetch(`${gateway.origin}/v1/files`);
    const { error } = (await answer.json()) as { error: { message: string } };
    expect(error.message).toBe(
      'There is no path /v1/files here. The paths are /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/responses, /v1/messages, /v1/messages/count_tokens, /v1/rerank, /v1/moderations, /v1/images/generations, /v1/images/edits, /v1/audio/speech, /v1/audio/transcriptions, /v1/audio/translations, /v1/models and /v1/keys.',
    );
  });

  test('an id of any length is an unknown one', async () => {
    const master = gateway.addKey({}, { kind: 'MasterKey' });
    const answer = await fetch(`${gateway.baseURL}/keys/${'x'.repeat(5000)}`, {
      headers: { authorization: `Bearer ${master}` },
    });
    await expectError(answer, 404, 'key_not_found', /No API key has this id/);
    const model = await fetch(`${gateway.baseURL}/models/${'x'.repeat(5000)}`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    await expectError(model, 404, 'model_not_found', /xxx…/);
  });

  test('HEAD / is answered', async () => {
    expect((await fetch(`${gateway.origin}/`, { method: 'HEAD' })).status).toBe(200);
  });
});

describe('every answer carries its request id, in the shape of its path', () => {
  const odd: readonly (readonly [name: string, status: number, send: (path: string) => string])[] = [
    ['a bad escape', 400, (path) => head('GET', `${path}/%zz`)],
    ['no Host', 400, (path) => head('POST', path, ['content-length: 2']).replace('host: x\r\n', '')],
    ['an unknown expectation', 417, (path) => head('POST', path, ['expect: miracles', 'content-length: 0'])],
    ['headers that are too large', 431, (path) => head('GET', path, [`x: ${'y'.repeat(20_000)}`])],
    ['two lengths', 400, (path) => head('POST', path, ['transfer-encoding: chunked', 'content-length: 3'])],
    ['an unknown path', 404, (path) => head('GET', `${path}/nothing`)],
    ['an unknown method', 405, (path) => head('GET', path)],
    ['no key', 401, (path) => head('POST', path).replace(gateway.key, 'x')],
  ];

  test.each(odd)('%s: %i', async (_name, status, send) => {
    const closing = (path: string) => send(path).replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n');
    const openai = await rawExchange(gateway.port, closing('/v1/chat/completions'), 500);
    expect(openai).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(openai).toMatch(/^x-request-id: req_[0-9a-f]{32}\r$/m);
    expect(openai).toMatch(/\r\n\r\n\{"error":\{"message":"/);
    const anthropic = await rawExchange(gateway.port, closing('/v1/messages'), 500);
    expect(anthropic).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const id = /^request-id: (req_[0-9a-f]{32})\r$/m.exec(anthropic)?.[1];
    expect(anthropic).toContain(`x-request-id: ${id}\r\n`);
    expect(anthropic).toContain(`"request_id":"${id}"`);
  });

  test('garbage and a head that trickles', async () => {
    for (const bytes of ['hello\r\n\r\n', 'GET / HTTP/1.1\r\nhost: x\r\n']) {
      expect(await rawExchange(gateway.port, bytes, 2000)).toMatch(/^x-request-id: req_[0-9a-f]{32}\r$/m);
    }
  });

  test('HTTP/1.0 needs no Host', async () => {
    const answer = await rawExchange(gateway.port, 'HEAD / HTTP/1.0\r\n\r\n', 500);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });
});
