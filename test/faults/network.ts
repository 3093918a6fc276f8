import type { Behaviour } from '../support/upstream-behaviours.ts';
import { chatText } from './ask.ts';
import type { Fault } from './fault.ts';
import type { Scene } from './scene.ts';
import type { NodeWish } from './served.ts';

const timeouts = { connectSeconds: 2, firstByteSeconds: 2, idleSeconds: 2, totalSeconds: 20 };

/** Asks for a model whose first node fails so and whose second is well: the caller must get the second's answer. */
export async function failsOver(scene: Scene, bad: NodeWish, names = true): Promise<void> {
  const served = await scene.shared();
  const { chat, nodes, upstreams } = await served.declare([bad, {}]);
  for (const stream of [false, true]) {
    const { status, text, headers, broken } = await chat(stream);
    const what = stream ? 'streamed' : 'plain';
    scene.same(`${what}: status`, broken ?? status, 200);
    scene.same(`${what}: text`, chatText(text, stream), 'w0 w1 w2 ');
    if (names) scene.same(`${what}: node`, headers.get('x-model-gateway-node'), nodes[1]);
  }
  const [attempts, taken] = [
    await served.metric('modelgateway_upstream_attempts_total', nodes[0]),
    upstreams.at(-1),
  ];
  scene.saw(
    `the second node answered ${taken?.requestsTo('/chat/completions').length} of 2, ${attempts} attempts at the first`,
  );
}

const inStream = (behaviour: Behaviour) => async (scene: Scene) => {
  const served = await scene.shared();
  const { chat, upstreams } = await served.declare([{ behaviour, spec: { timeouts } }, {}]);
  const { status, text, whole } = await chat(true);
  scene.same('status', status, 200);
  scene.must('the answer ends in an orderly way', whole);
  const events = text.trim().split('\n\n');
  scene.same('events before the error', events.length - 1, 2);
  scene.must(`the last event is an error: ${events.at(-1)}`, /"error":/.test(events.at(-1) ?? ''));
  scene.must('no [DONE] pretends that it is complete', !text.includes('[DONE]'));
  scene.same('requests at the other node', upstreams[1]?.requests.length, 0);
  scene.saw('two pieces, then an error event; nobody else was asked');
};

const failover = 'the caller gets the next node’s answer and notices nothing';

export const networkFaults: readonly Fault[] = [
  {
    id: 'network-refused',
    group: 'network',
    section: 'Failover',
    promise: `connection refused: ${failover}`,
    form: 'short',
    run: (scene) => failsOver(scene, { baseURL: 'http://127.0.0.1:1/v1' }),
  },
  {
    id: 'network-reset-before-head',
    group: 'network',
    section: 'Failover',
    promise: `reset before any byte of an answer: ${failover}`,
    form: 'short',
    run: (scene) => failsOver(scene, { behaviour: { kind: 'resetBeforeHead' } }),
  },
  {
    id: 'network-reset-after-head',
    group: 'network',
    section: 'Failover',
    promise: `reset after the head, before any content: ${failover}`,
    form: 'short',
    run: (scene) => failsOver(scene, { behaviour: { kind: 'resetAfterHead' } }),
  },
  {
    id: 'network-reset-mid-stream',
    group: 'network',
    section: 'Failover, Streaming',
    promise: 'a stream cut after content is never begun again elsewhere; the caller is told in the stream',
    form: 'short',
    run: inStream({ kind: 'resetMidStream', chunks: 2 }),
  },
  {
    id: 'network-black-hole-mid-stream',
    group: 'network',
    section: 'Timeouts',
    promise: 'a stream that falls silent ends after the node’s idle time with an error in it',
    form: 'short',
    run: inStream({ kind: 'hangMidStream', chunks: 2 }),
  },
  {
    id: 'network-no-answer',
    group: 'network',
    section: 'Failover',
    promise: `no first byte within the node’s time: ${failover}`,
    form: 'short',
    run: (scene) =>
      failsOver(scene, {
        behaviour: { kind: 'hang' },
        spec: { timeouts: { ...timeouts, firstByteSeconds: 1 } },
      }),
  },
];
