import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listModels } from '../../src/upstream/list-models.ts';
import { Pools } from '../../src/upstream/pools.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import { connectionTo } from '../unit/upstream/exchanges.ts';

// Compressed bodies of a few kilobytes that decompress to gigabytes, and small texts that parse to large values.
const mib = 1024 * 1024;
const zeroes = Buffer.alloc(64 * mib, 0x20);
const bombs = {
  gzip: gzipSync(zeroes),
  deflate: deflateSync(zeroes),
  br: brotliCompressSync(zeroes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: zstdCompressSync(zeroes),
} as const;
let gateway: GatewayUnderTest;
let chat: ScriptedUpstream;

beforeAll(async () => {
  gateway = await startGateway({ limits: { bodyBytes: mib, bufferedBytes: 8 * mib, convertedBytes: mib } });
  chat = await gateway.addNode('chat');
});
afterAll(async () => {
  expect((await gateway.post('/chat/completions', { model: 'm' })).status).toBe(200);
  expect(gateway.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  await gateway.close();
});

/** By how many bytes the memory of this process, and of all buffers, grew at most while `work` ran. */
async function growthWhile(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage();
  let most = 0;
  const look = (): void => {
    const { external, heapUsed } = process.memoryUsage();
    most = Math.max(most, external - before.external + heapUsed - before.heapUsed);
  };
  const timer = setInterval(look, 2);
  await work();
  look();
  clearInterval(timer);
  return most;
}

const messages = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'a' }] };

describe('from callers', () => {
  test.each(Object.entries(bombs))(
    '%s is not decompressed beyond the limit, nor are ten at once',
    async (encoding, bomb) => {
      const grown = await growthWhile(() =>
        Promise.all(
          Array.from({ length: 10 }, async () => {
            const answer = await gateway.post('/chat/completions', bomb, {
              headers: { 'content-encoding': encoding },
            });
            // The bound of one body, or that of the key.
            expect([413, 429]).toContain(answer.status);
            await answer.arrayBuffer();
          }),
        ),
      );
      // Unfolded they would be 640 MiB.
      expect(grown).toBeLessThan(128 * mib);
    },
  );

  test.each<[what: string, encoding: string, body: Buffer, statuses: number[]]>([
    [
      'many members',
      'gzip',
      Buffer.concat(Array.from({ length: 40 }, () => gzipSync(zeroes.subarray(0, mib)))),
      [413, 429],
    ],
    ['a bomb in a bomb', 'gzip, gzip', gzipSync(bombs.gzip), [415]],
    ['a bomb in a bomb, told once', 'gzip', gzipSync(gzipSync(zeroes)), [400]],
    ['a bomb that ends early', 'gzip', bombs.gzip.subarray(0, -4), [413, 429, 400]],
    ['another behind a good one', 'gzip', Buffer.concat([gzipSync('{"model":"m"}'), bombs.gzip]), [413, 429]],
  ])('%s', async (_what, encoding, body, statuses) => {
    const answer = await gateway.post('/chat/completions', body, {
      headers: { 'content-encoding': encoding },
    });
    expect(statuses).toContain(answer.status);
  });

  test.each<[what: string, body: string, statuses: number[]]>([
    ['brackets', `{"model":"m","a":${'['.repeat(500_000)}`, [400]],
    ['half a million empty lists', `{"model":"m","a":[${'[],'.repeat(300_000)}[]]}`, [200, 400]],
    [
      'half a million members',
      `{"model":"m",${Array.from({ length: 70_000 }, (_, n) => `"${n}":0`).join()}}`,
      [200, 400],
    ],
    ['a number without end', `{"model":"m","a":1${'0'.repeat(900_000)}}`, [200, 400]],
    ['escapes', `{"model":"m","a":"${'\\u0000'.repeat(150_000)}"}`, [200, 400]],
    [
      'messages',
      `{"model":"m","max_tokens":1,"messages":[${'{"role":"user","content":""},'.repeat(30_000)}{}]}`,
      [200, 400],
    ],
    [
      'tools',
      `{"model":"m","max_tokens":1,"messages":[],"tools":[${'{"name":"a","input_schema":{}},'.repeat(25_000)}{}]}`,
      [200, 400],
    ],
    [
      'blanks in a result',
      `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"${' '.repeat(900_000)}x"}]}]}`,
      [200, 400],
    ],
  ])('small texts, large values: %s, in every format', async (_what, body, statuses) => {
    for (const path of ['/chat/completions', '/messages', '/responses', '/completions']) {
      const before = process.cpuUsage();
      const answer = await gateway.post(path, body);
      expect(statuses).toContain(answer.status);
      await answer.arrayBuffer();
      const { user, system } = process.cpuUsage(before);
      // Seen: below 200 ms. What grows with the square of a mebibyte takes minutes.
      expect((user + system) / 1000).toBeLessThan(5_000);
    }
  });
});

describe('from nodes', () => {
  test.each(Object.entries(bombs))(
    '%s is never decompressed, because it was not requested',
    async (encoding, bomb) => {
      const body = Buffer.concat([
        Buffer.from(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${bomb.length}\r\n\r\n`,
        ),
        bomb,
      ]);
      chat.respondWith('/chat/completions', { kind: 'raw', bytes: body });
      chat.respondWith('/models', { kind: 'raw', bytes: body });
      const grown = await growthWhile(async () => {
        for (const stream of [false, true]) {
          const converted = await gateway.post('/messages', { ...messages, stream });
          expect(await converted.text()).toContain('error');
        }
        // Passed through as it is, to be unfolded by who asked.
        const response = await fetch(`${gateway.baseURL}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
          body: '{"model":"m"}',
        });
        expect(response.headers.get('content-encoding')).toBe(encoding);
        await response.body?.cancel();
        const pools = new Pools({ rules: { allowLoopback: true } });
        const connection = connectionTo(chat.port, { baseURL: chat.url });
        const limits = { maxBytes: mib, maxModels: 100, timeoutMs: 5_000 };
        const listed = await listModels(
          pools.pool('n', connection),
          connection,
          limits,
          AbortSignal.timeout(5_000),
        );
        expect(listed.kind).toBe('invalid');
        await pools.destroy();
      });
      // Unfolded it would be 64 MiB, several times.
      expect(grown).toBeLessThan(48 * mib);
      chat.respondWith('/chat/completions', undefined);
      chat.respondWith('/models', undefined);
    },
  );

  test.each<[what: string, piece: string]>([
    ['an answer without end', `{"a":"${'x'.repeat(60_000)}`],
    ['an event without end', `data: ${'x'.repeat(60_000)}`],
    ['events without content', `${': x\n\n'.repeat(10_000)}`],
    ['line ends alone', '\r'.repeat(60_000)],
  ])('%s is held within bounds', async (_what, piece) => {
    chat.respondWith('/chat/completions', {
      kind: 'endlessBody',
      piece,
      headers: { 'content-type': 'text/event-stream' },
    });
    const grown = await growthWhile(async () => {
      const signal = AbortSignal.timeout(400);
      for (const stream of [false, true]) {
        const answer = await gateway
          .post('/messages', { ...messages, stream }, { signal })
          .catch(() => undefined);
        await answer?.body?.cancel().catch(() => {});
      }
    });
    expect(grown).toBeLessThan(128 * mib);
    chat.respondWith('/chat/completions', undefined);
  });
});
