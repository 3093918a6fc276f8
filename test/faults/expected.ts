import type { Behaviour } from '../support/upstream-behaviours.ts';
import { chatText } from './ask.ts';
import type { Scene } from './scene.ts';
import type { Declared, NodeWish, Served } from './served.ts';

/** Short enough to be waited for; generous where a node is well. */
export const shortTimeouts = { connectSeconds: 2, firstByteSeconds: 2, idleSeconds: 2, totalSeconds: 20 };

export const failoverPromise = 'the caller gets the next node’s answer and notices nothing';

/** The text of a standard answer of a declared model. */
export const wellText = 'w0 w1 w2 ';

/** Asks for a model whose first node fails so and whose second is well: the caller must get the second's answer. */
export async function failsOver(
  scene: Scene,
  bad: NodeWish,
  streams: readonly boolean[] = [false, true],
): Promise<{ served: Served; declared: Declared }> {
  const served = await scene.shared();
  const declared = await served.declare([bad, {}]);
  const { chat, nodes, upstreams } = declared;
  for (const stream of streams) {
    const { status, text, headers, broken } = await chat(stream);
    const what = stream ? 'streamed' : 'plain';
    scene.same(`${what}: status`, broken ?? status, 200);
    scene.same(`${what}: text`, chatText(text, stream), wellText);
    scene.same(`${what}: node`, headers.get('x-model-gateway-node'), nodes[1]);
  }
  const attempts = await served.metric('modelgateway_upstream_attempts_total', nodes[0]);
  scene.must('the first node was tried', attempts > 0);
  const taken = upstreams.at(-1)?.requestsTo('/chat/completions').length;
  scene.saw(`the second node answered ${taken} of ${streams.length} after ${attempts} attempts at the first`);
  return { served, declared };
}

/**
 * A stream whose only node breaks it after two pieces: told in the stream, and asked nowhere else. Of a third event that
 * was cut off nothing is passed on.
 */
export async function toldInStream(scene: Scene, behaviour: Behaviour): Promise<void> {
  const served = await scene.shared();
  const wish = { behaviour, spec: { timeouts: shortTimeouts } };
  const { chat, upstreams } = await served.declare([wish, {}]);
  const { status, text, whole } = await chat(true);
  scene.same('status', status, 200);
  scene.must('the answer ends in an orderly way', whole);
  const got = text.trim().split('\n\n');
  scene.same('events before the error', got.length - 1, 2);
  scene.must(`the last event is an error: ${got.at(-1)}`, /"error":/.test(got.at(-1) ?? ''));
  scene.must('no [DONE] pretends that it is complete', !text.includes('[DONE]'));
  scene.same('requests at the other node', upstreams[1]?.requests.length, 0);
  scene.saw('two pieces, then an error event; nobody else was asked');
}

/** The only node fails so: the caller gets an error of this status in its own shape, with nothing of the node's address in it. */
export async function toldAsError(scene: Scene, bad: NodeWish, status: number, words: RegExp): Promise<void> {
  const served = await scene.shared();
  const { chat } = await served.declare([bad]);
  const answer = await chat();
  scene.same('status', answer.broken ?? answer.status, status);
  scene.must(`the error says ${words}: ${answer.text.slice(0, 200)}`, words.test(answer.message ?? ''));
  scene.must('no address is told', !/127\.0\.0\.1|169\.254/.test(answer.text));
  scene.saw(`${answer.status}: ${answer.message}`);
}
