import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { chatText } from './ask.ts';
import { failoverPromise, failsOver, shortTimeouts, toldInStream, wellText } from './expected.ts';
import type { Fault } from './fault.ts';
import type { Scene } from './scene.ts';

/** Waits while connections to it are neither accepted nor refused: its queue is full and it stands still. */
async function startBlackHole(scene: Scene): Promise<number> {
  const script = `
    const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      process.stdout.write(server.address().port + '\\n', () => process.kill(process.pid, 'SIGSTOP'));
    });`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  scene.onEnd(() => child.kill('SIGKILL'));
  const [bytes] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(bytes.toString());
  const fill: Socket[] = [];
  scene.onEnd(() => {
    for (const socket of fill) socket.destroy();
  });
  for (let taken = true; taken && fill.length < 50; ) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    fill.push(socket);
    taken = await Promise.race([once(socket, 'connect').then(() => true), delay(500).then(() => false)]);
  }
  return port;
}

export const networkFaults: readonly Fault[] = [
  {
    id: 'network-refused',
    group: 'network',
    section: 'Failover',
    promise: `connection refused: ${failoverPromise}`,
    form: 'short',
    async run(scene) {
      await failsOver(scene, { baseURL: 'http://127.0.0.1:1/v1' });
    },
  },
  {
    id: 'network-reset-before-head',
    group: 'network',
    section: 'Failover',
    promise: `reset before any byte of an answer: ${failoverPromise}`,
    form: 'short',
    async run(scene) {
      await failsOver(scene, { behaviour: { kind: 'resetBeforeHead' } });
    },
  },
  {
    id: 'network-closed-before-head',
    group: 'network',
    section: 'Failover',
    promise: `closed in good order, without a byte of an answer: ${failoverPromise}`,
    form: 'short',
    async run(scene) {
      await failsOver(scene, { behaviour: { kind: 'closeBeforeHead' } });
    },
  },
  {
    id: 'network-reset-after-head',
    group: 'network',
    section: 'Failover',
    promise: `reset after the head, before any content: ${failoverPromise}`,
    form: 'short',
    async run(scene) {
      await failsOver(scene, { behaviour: { kind: 'resetAfterHead' } });
    },
  },
  {
    id: 'network-reset-mid-body',
    group: 'network',
    section: 'Failover',
    promise: 'a plain answer cut after it has begun is cut for the caller too, never made to look whole',
    form: 'short',
    async run(scene) {
      const { chat, upstreams } = await (await scene.shared()).declare([
        { behaviour: { kind: 'shortBody' } },
        {},
      ]);
      const { status, whole, broken } = await chat();
      scene.same('status', status, 200);
      scene.must('the caller sees that it is cut', !whole);
      scene.same('requests at the other node', upstreams[1]?.requests.length, 0);
      scene.saw(`half of the body, then ${broken}`);
    },
  },
  {
    id: 'network-reset-mid-stream',
    group: 'network',
    section: 'Failover, Streaming',
    promise: 'a stream cut after content is never begun again elsewhere; the caller is told in the stream',
    form: 'short',
    run: (scene) => toldInStream(scene, { kind: 'resetMidStream', chunks: 2 }),
  },
  {
    id: 'network-closed-mid-stream',
    group: 'network',
    section: 'Streaming',
    promise: 'a stream that ends in good order without its end is not taken for complete',
    form: 'short',
    run: (scene) => toldInStream(scene, { kind: 'endMidStream', chunks: 2 }),
  },
  {
    id: 'network-black-hole-mid-stream',
    group: 'network',
    section: 'Timeouts of a node',
    promise: 'a stream that falls silent ends after the node’s idle time with an error in it',
    run: (scene) => toldInStream(scene, { kind: 'hangMidStream', chunks: 2 }),
  },
  {
    id: 'network-no-answer',
    group: 'network',
    section: 'Timeouts of a node',
    promise: `no first byte within the node’s time: ${failoverPromise}`,
    async run(scene) {
      const timeouts = { ...shortTimeouts, firstByteSeconds: 1 };
      await failsOver(scene, { behaviour: { kind: 'hang' }, spec: { timeouts } });
    },
  },
  {
    id: 'network-black-hole',
    group: 'network',
    section: 'Timeouts of a node',
    promise: `connections that nobody takes or refuses end after the node’s time: ${failoverPromise}`,
    needs: ['linux'],
    async run(scene) {
      const port = await startBlackHole(scene);
      await failsOver(scene, {
        baseURL: `http://127.0.0.1:${port}/v1`,
        spec: { timeouts: { ...shortTimeouts, connectSeconds: 1 } },
      });
    },
  },
  {
    id: 'network-slow',
    group: 'network',
    section: 'Timeouts of a node',
    promise:
      'an answer that trickles byte by byte, with no silence as long as the idle time, is passed on whole',
    async run(scene) {
      const body = JSON.stringify({ choices: [{ message: { content: wellText } }] });
      const behaviour = { kind: 'slowBody', body, everyMilliseconds: 40 } as const;
      const { chat } = await (await scene.shared()).declare([
        { behaviour, spec: { timeouts: shortTimeouts } },
      ]);
      const { status, text, ms } = await chat();
      scene.same('status', status, 200);
      scene.same('body', text, body);
      scene.saw(`${body.length} bytes in ${Math.round(ms)} ms, whole`);
    },
  },
  {
    id: 'network-stale-connection',
    group: 'network',
    section: 'Failover',
    promise: 'a kept connection that the node closed meanwhile costs no attempt',
    form: 'short',
    async run(scene) {
      const declared = await (await scene.shared()).declare([{}, {}]);
      const first = declared.upstreams[0];
      first?.respondWith('/chat/completions', { kind: 'closeAfterAnswer', afterMilliseconds: 0 });
      for (let round = 0; round < 5; round += 1) {
        const { status, headers } = await declared.chat(round % 2 === 1);
        scene.same('status', status, 200);
        scene.same('node', headers.get('x-model-gateway-node'), declared.nodes[0]);
        scene.same('attempts', headers.get('x-model-gateway-attempts'), '1');
      }
      scene.saw('5 requests on connections that were closed after each answer: 1 attempt each');
    },
  },
  {
    id: 'network-all-cut',
    group: 'network',
    section: 'Failover, Streaming',
    promise:
      'all connections of a node cut at once: its open streams are told, and the next request is served by it',
    async run(scene) {
      const upstream = { chunks: 200, chunkDelayMilliseconds: 50 };
      const { chat, upstreams } = await (await scene.shared()).declare([{ upstream }]);
      const [first] = upstreams;
      const streams = Array.from({ length: 10 }, () => chat(true));
      await first?.waitFor((requests) => requests.length === 10);
      await delay(200);
      first?.pause();
      const ended = await Promise.all(streams);
      const told = ended.filter(({ text }) => /"error":/.test(text) && !text.includes('[DONE]')).length;
      scene.same('streams that were told', told, 10);
      if (first !== undefined) Object.assign(first.answers, { chunks: 3, chunkDelayMilliseconds: 0 });
      await first?.resume();
      await scene.recovers('the node serves again', async () => {
        const { text } = await chat();
        return chatText(text, false) === wellText;
      });
      scene.saw('10 streams, each with an error event at its end');
    },
  },
  {
    id: 'network-node-away',
    group: 'network',
    section: 'Circuits',
    promise:
      'a node that is away is asked no more after five failures, and again by one probe 30 s later; no caller notices',
    async run(scene) {
      const served = await scene.shared();
      const { chat, upstreams, nodes } = await served.declare([{}, {}]);
      const [first] = upstreams;
      first?.pause();
      let failed = 0;
      let sent = 0;
      const all = async (): Promise<string | null> => {
        const { status, headers } = await chat();
        sent += 1;
        if (status !== 200) failed += 1;
        return headers.get('x-model-gateway-node');
      };
      for (let round = 0; round < 30; round += 1) await all();
      const attempts = await served.metric('modelgateway_upstream_attempts_total', nodes[0]);
      scene.same('attempts at the node that is away', attempts, 5);
      await first?.resume();
      await scene.recovers(
        'it serves again',
        async () => {
          await delay(200);
          return (await all()) === nodes[0];
        },
        60_000,
      );
      scene.same('failed requests', failed, 0);
      scene.saw(`${attempts} attempts at it for 30 requests while it was away; ${failed} of ${sent} failed`);
    },
  },
];
