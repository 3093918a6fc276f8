import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { ask, chatBody, chatText } from './ask.ts';
import { exchange, openMany, requestText, statuses } from './connections.ts';
import { wellText } from './expected.ts';
import type { Fault } from './fault.ts';
import type { Scene } from './scene.ts';

const streamHeaders = { 'content-type': 'text/event-stream' };
const largeEvent = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(16_000)}"},"finish_reason":null}]}\n\n`;

/** Requests that others might frame in another way: each carries a second request that must never be one. */
async function desync(
  scene: Scene,
  attacks: readonly (readonly [string, (smuggled: string) => string])[],
): Promise<void> {
  const served = await scene.shared();
  const { model, upstreams } = await served.declare([{}]);
  const smuggled = requestText(served, { model });
  const answered: string[] = [];
  for (const [what, attack] of attacks) {
    const text = await exchange(served, attack(smuggled));
    const [status, ...more] = statuses(text);
    answered.push(`${what} ${status ?? 'closed'}`);
    scene.must(`${what}: refused, ${status}`, status === undefined || (status >= 400 && status < 500));
    scene.must(`${what}: nothing behind it is answered with success, ${more}`, !more.includes(200));
  }
  await delay(100);
  scene.same('smuggled requests that reached a node', upstreams[0]?.requests.length, 0);
  scene.saw(answered.join(', '));
}

/** Descriptors that this process may have, less what it needs for itself. */
function descriptors(): number {
  try {
    const limit = /Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return Number(limit ?? 1_024) - 500;
  } catch {
    return 500;
  }
}

export const callerFaults: readonly Fault[] = [
  {
    id: 'callers-never-read',
    group: 'callers',
    section: 'Streaming',
    promise:
      'callers that do not read stop their nodes from sending; memory stays bounded and others are served',
    async run(scene) {
      const served = await scene.shared();
      const behaviour = { kind: 'endlessBody', piece: largeEvent, headers: streamHeaders } as const;
      const { model, upstreams } = await served.declare([{ behaviour }]);
      const before = await served.metric('process_resident_memory_bytes');
      const sockets = Array.from({ length: 8 }, () => {
        const socket = connect(served.process.port, '127.0.0.1');
        socket.on('error', () => {});
        socket.pause();
        socket.write(requestText(served, { model, stream: true }));
        return socket;
      });
      const sent = () =>
        (upstreams[0]?.requests ?? []).reduce((sum, request) => sum + request.sentBytes(), 0);
      await upstreams[0]?.waitFor((requests) => requests.length === 8, 20_000);
      let last = -1;
      for (let round = 0; round < 100 && sent() !== last; round += 1) {
        last = sent();
        await delay(200);
      }
      scene.same('bytes that nodes send on', sent() - last, 0);
      const grown = ((await served.metric('process_resident_memory_bytes')) - before) / 2 ** 20;
      scene.must(`memory grew by ${Math.round(grown)} MiB, not 200`, grown < 200);
      for (const socket of sockets) socket.destroy();
      const gone = () =>
        upstreams[0]?.requests.every(({ clientGoneTime }) => clientGoneTime !== undefined) === true;
      await scene.recovers('the nodes are told that they left', gone, 10_000);
      scene.saw(
        `8 callers: nodes stood still after ${Math.round(last / 2 ** 20)} MiB in kernel buffers, ${Math.round(grown)} MiB more memory`,
      );
    },
  },
  {
    id: 'callers-leave',
    group: 'callers',
    section: 'Streaming',
    promise: 'a caller that leaves cancels its request at the node at once, streamed or not',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const { chat, upstreams } = await served.declare([{ behaviour: { kind: 'hang' } }]);
      const leave = new AbortController();
      const all = Array.from({ length: 20 }, (_, index) => chat(index % 2 === 0, { signal: leave.signal }));
      await upstreams[0]?.waitFor((requests) => requests.length === 20);
      leave.abort();
      await scene.recovers(
        'all are cancelled',
        () => upstreams[0]?.requests.every(({ clientGoneTime }) => clientGoneTime !== undefined) === true,
        5_000,
      );
      await Promise.all(all);
      upstreams[0]?.respondWith('/chat/completions', undefined);
      scene.same('the node is asked on, without a circuit', (await chat()).status, 200);
      scene.saw('20 of 20 cancelled at the node');
    },
  },
  {
    id: 'callers-idle',
    group: 'callers',
    section: 'Requests',
    promise: '10,000 connections that say nothing cost little memory and no other caller',
    needs: ['linux'],
    async run(scene) {
      const count = Math.min(10_000, descriptors());
      const served = await scene.own();
      const before = await served.metric('process_resident_memory_bytes');
      const sockets = await openMany(served, count);
      scene.onEnd(() => {
        for (const socket of sockets) socket.destroy();
      });
      scene.same('connections that stand', sockets.length, count);
      for (let round = 0; round < 20; round += 1) {
        const { status } = await served.ask({ body: chatBody('honest') });
        scene.same('a request beside them', status, 200);
      }
      const grown = (await served.metric('process_resident_memory_bytes')) - before;
      scene.must(`${Math.round(grown / count)} bytes each, not 30,000`, grown / count < 30_000);
      scene.saw(`${count} connections, ${(grown / count / 1000).toFixed(1)} KB each`);
    },
  },
  {
    id: 'callers-slow-requests',
    group: 'callers',
    section: 'Requests',
    promise:
      'heads and bodies that trickle or stand still are refused with 408 in time, and their connections closed',
    async run(scene) {
      const served = await scene.shared();
      const began = performance.now();
      const half = requestText(served, { more: ['content-length: 1000'], body: '{"mo' });
      const [head, body] = await Promise.all([
        exchange(served, 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n', 60_000),
        exchange(served, half, 60_000),
      ]);
      scene.same('the head', statuses(head), [408]);
      scene.same('the body', statuses(body), [408]);
      const seconds = (performance.now() - began) / 1000;
      scene.must(`both within a minute: ${seconds.toFixed(1)} s`, seconds < 60);
      scene.saw(`both 408, the last after ${seconds.toFixed(0)} s`);
    },
  },
  {
    id: 'callers-pipelining',
    group: 'callers',
    section: 'Requests',
    promise:
      'requests sent one behind the other without waiting are answered in their order, each with its own answer',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const slow = await served.declare([{ behaviour: { kind: 'slowFirstByte', milliseconds: 200 } }]);
      const quick = await served.declare([{}]);
      const requests = [slow, quick, slow, quick, quick].map(({ model }) => requestText(served, { model }));
      const text = await exchange(served, requests.join(''));
      scene.same('statuses', statuses(text), [200, 200, 200, 200, 200]);
      const models = [...text.matchAll(/"model":"([^"]+)"/g)].map(([, model]) => model);
      scene.same(
        'whose answers',
        models,
        [slow, quick, slow, quick, quick].map(({ model }) => model),
      );
      scene.saw('5 answers in their order');
    },
  },
  {
    id: 'callers-desync-lengths',
    group: 'callers',
    section: 'Requests',
    promise:
      'a request whose length can be read in two ways is refused, and nothing in it becomes another request',
    form: 'short',
    run: (scene) =>
      desync(scene, [
        [
          'both',
          (smuggled) =>
            `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
        ],
        [
          'two lengths',
          (smuggled) =>
            `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ncontent-length: ${smuggled.length}\r\n\r\n${smuggled}`,
        ],
        [
          'a list',
          (smuggled) =>
            `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 0, ${smuggled.length}\r\n\r\n${smuggled}`,
        ],
        [
          'a sign',
          (smuggled) =>
            `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: +0\r\n\r\n${smuggled}`,
        ],
        [
          'hexadecimal',
          (smuggled) =>
            `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 0x10\r\n\r\n${smuggled}`,
        ],
      ]),
  },
  {
    id: 'callers-desync-codings',
    group: 'callers',
    section: 'Requests',
    promise:
      'a transfer coding that others may not see is refused, and nothing behind it becomes another request',
    form: 'short',
    run: (scene) => {
      const coded = (header: string) => (smuggled: string) =>
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n0\r\n\r\n${smuggled}`;
      return desync(scene, [
        ['unknown', coded('transfer-encoding: xchunked')],
        ['space before colon', coded('transfer-encoding : chunked')],
        ['not last', coded('transfer-encoding: chunked, identity')],
        ['folded', coded('transfer-encoding:\r\n chunked')],
        [
          'bare line feed',
          (smuggled) =>
            `POST /v1/chat/completions HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\n0\n\n${smuggled}`,
        ],
        ['zero byte', coded('x: a\0b\r\ntransfer-encoding: chunked')],
      ]);
    },
  },
  {
    id: 'callers-desync-chunks',
    group: 'callers',
    section: 'Requests',
    promise: 'chunks that are framed badly are refused, and nothing behind them becomes another request',
    form: 'short',
    run: (scene) => {
      const chunked = (chunks: string) => (smuggled: string) =>
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks}${smuggled}`;
      return desync(scene, [
        ['no size', chunked('\r\n\r\n')],
        ['size too large', chunked('fffffffffffffffff\r\n')],
        ['minus', chunked('-1\r\n')],
        ['hexadecimal prefix', chunked('0x0\r\n\r\n')],
        ['bare line feed', chunked('0\n\n')],
      ]);
    },
  },
  {
    id: 'callers-giant-headers',
    group: 'callers',
    section: 'Requests',
    promise: 'headers of a megabyte, in one line or in many, are refused with 431 and cost nobody else',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const one = await exchange(
        served,
        requestText(served, { more: [`x-large: ${'y'.repeat(1_000_000)}`] }),
      );
      const lines = Array.from({ length: 20_000 }, (_, index) => `x-${index}: ${'y'.repeat(40)}`);
      const many = await exchange(served, requestText(served, { more: lines }));
      scene.same('one line', statuses(one), [431]);
      scene.same('many lines', statuses(many), [431]);
      scene.saw('431 and 431');
    },
  },
  {
    id: 'callers-giant-bodies',
    group: 'callers',
    section: 'Requests',
    promise:
      'bodies beyond the limit get 413, and bombs too, however they are packed; all bodies together are bounded',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const bomb = Buffer.alloc(60_000_000, 0x20);
      const before = await served.metric('process_resident_memory_bytes');
      const packed = { gzip: gzipSync(bomb), br: brotliCompressSync(bomb), zstd: zstdCompressSync(bomb) };
      const seen: number[] = [];
      for (const [coding, body] of [...Object.entries(packed), ['identity', bomb] as const]) {
        const response = await fetch(`${served.process.baseURL}/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${served.key}`,
            'content-type': 'application/json',
            'content-encoding': coding,
          },
          body,
          signal: AbortSignal.timeout(30_000),
        });
        seen.push(response.status);
        await response.text();
      }
      scene.same('statuses', seen, [413, 413, 413, 413]);
      const grown = ((await served.metric('process_resident_memory_bytes')) - before) / 2 ** 20;
      scene.must(`memory grew by ${Math.round(grown)} MiB, not 300`, grown < 300);
      scene.saw(`413 four times, ${Math.round(grown)} MiB more memory`);
    },
  },
  {
    id: 'callers-vanish',
    group: 'callers',
    section: 'Requests',
    promise: '2,000 callers that connect, send half a request and reset leave nothing behind',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const half = requestText(served, { more: ['content-length: 5000'], body: '{"model":"honest"' });
      for (let round = 0; round < 10; round += 1) {
        const sockets = await openMany(served, 200, half);
        for (const socket of sockets) socket.resetAndDestroy();
      }
      await scene.recovers(
        'no request is in flight but the honest ones',
        async () => (await served.metric('modelgateway_requests_in_flight')) <= 4,
        10_000,
      );
      scene.saw('2,000 vanished; nothing in flight');
    },
  },
  {
    id: 'callers-wrong-keys',
    group: 'callers',
    section: 'API keys',
    promise:
      '3,000 wrong keys, near misses of a good one among them: none opens, and the good one does throughout',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const { key } = served;
      const near = (index: number) => {
        const at = 4 + (index % (key.length - 4));
        const letter = key[at] === 'A' ? 'B' : 'A';
        return (
          [
            key.slice(0, at) + letter + key.slice(at + 1),
            key.slice(0, at),
            `${key}${index}`,
            key.toLowerCase(),
          ][index % 4] ?? ''
        );
      };
      const seen = new Map<number, number>();
      for (let round = 0; round < 60; round += 1) {
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, index) =>
            ask(served.process.baseURL, { key: near(round * 50 + index), path: '/models' }),
          ),
        );
        for (const { status } of answers) seen.set(status, (seen.get(status) ?? 0) + 1);
      }
      scene.same('statuses', [...seen], [[401, 3_000]]);
      scene.saw('401 three thousand times');
    },
  },
  {
    id: 'callers-half-closed',
    group: 'callers',
    section: 'Requests',
    promise: 'a caller that ends its side once its request is sent is answered, or closed, and harms nobody',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const { model } = await served.declare([{ behaviour: { kind: 'slowFirstByte', milliseconds: 100 } }]);
      const socket: Socket = connect({ port: served.process.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      let text = '';
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString();
      });
      socket.end(requestText(served, { model }));
      await Promise.race([new Promise((resolve) => socket.once('end', resolve)), delay(5_000)]);
      socket.destroy();
      const body = text.slice(text.indexOf('\r\n\r\n') + 4);
      scene.must(
        `whole or nothing: ${text.slice(0, 100)}`,
        text === '' || chatText(body, false) === wellText,
      );
      scene.saw(text === '' ? 'closed without an answer' : 'answered');
    },
  },
];
