import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failoverPromise, failsOver, shortTimeouts } from './expected.ts';
import type { Fault } from './fault.ts';
import type { Names } from './served.ts';

const here = ['127.0.0.1'];
const forbidden = ['169.254.169.254'];

/** A fault of a name: what it resolves to, and how the node with that name fares beside one that is well. */
function nameFault(id: string, promise: string, answers: Names[string], connectSeconds = 5): Fault {
  return {
    ...{ id, promise, group: 'network', form: connectSeconds === 5 ? 'short' : 'full' },
    section: id.includes('forbidden') ? 'Where a node may point' : 'Failover',
    async run(scene) {
      await (await scene.shared()).resolve({ [`${id}.test`]: answers });
      await failsOver(scene, {
        baseURL: `http://${id}.test:PORT/v1`,
        spec: { timeouts: { ...shortTimeouts, connectSeconds } },
      });
    },
  };
}

export const nameFaults: readonly Fault[] = [
  nameFault('dns-unknown', `a name that does not exist: ${failoverPromise}`, ['ENOTFOUND']),
  nameFault('dns-no-server', `a name server that fails for now: ${failoverPromise}`, ['EAI_AGAIN']),
  nameFault(
    'dns-silent',
    `a name server that never answers costs the connect time: ${failoverPromise}`,
    ['never'],
    1,
  ),
  nameFault('dns-empty', `a name without an address: ${failoverPromise}`, [[]]),
  nameFault('dns-forbidden', `a name of a metadata address is never contacted: ${failoverPromise}`, [
    forbidden,
  ]),
  {
    id: 'dns-forbidden-second-time',
    group: 'network',
    section: 'Where a node may point',
    promise:
      'a name that was good and then leads to a metadata address is judged at each connect: never contacted',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      await served.resolve({ 'rebinding.test': [here, forbidden] });
      // Connections are closed after each answer, so each request looks the name up anew.
      const { chat, nodes, upstreams } = await served.declare([
        {},
        { baseURL: 'http://rebinding.test:PORT/v1' },
      ]);
      upstreams[0]?.respondWith('/chat/completions', ({ headers }) =>
        headers.host?.startsWith('rebinding') === true
          ? { kind: 'closeAfterAnswer' }
          : { kind: 'answer', status: 500, body: {} },
      );
      const first = await chat();
      scene.same(
        'the first request',
        [first.status, first.headers.get('x-model-gateway-node')],
        [200, nodes[1]],
      );
      const began = performance.now();
      const second = await chat();
      scene.same('the second request', second.status, 502);
      scene.must('nobody waited for an address that is not asked', performance.now() - began < 4_000);
      const asked = (await readFile(join(served.folders.root, 'names.json.asked'), 'utf8')).match(
        /^rebinding.*$/gm,
      );
      scene.must(`the name was looked up again: ${asked}`, (asked?.length ?? 0) >= 2);
      const refused = await served.metric(
        'modelgateway_upstream_attempts_total',
        `node="${nodes[1]}",outcome="connect_error"`,
      );
      scene.same('attempts that were refused', refused, 1);
      scene.must('the upstream was not asked by that name again', upstreams[0]?.requests.length === 3);
      scene.saw(`looked up ${asked?.length} times; the second time: ${second.message}`);
    },
  },
  {
    id: 'dns-flapping',
    group: 'network',
    section: 'Failover',
    promise: 'a name that resolves every other time: every request is answered',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const answers = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'EAI_AGAIN' : here));
      await served.resolve({ 'flapping.test': answers });
      const { chat, upstreams } = await served.declare([
        {},
        { baseURL: 'http://flapping.test:PORT/v1', priority: 95 },
      ]);
      upstreams[0]?.respondWith('/chat/completions', { kind: 'closeAfterAnswer' });
      let good = 0;
      let byName = 0;
      for (let round = 0; round < 8; round += 1) {
        const { status } = await chat(round % 2 === 0);
        if (status === 200) good += 1;
      }
      for (const { headers } of upstreams[0]?.requests ?? []) {
        if (headers.host?.startsWith('flapping') === true) byName += 1;
      }
      scene.same('requests that were answered', good, 8);
      scene.must('some went by the name', byName > 0);
      scene.saw(`8 of 8 answered, ${byName} of them by the name that flaps`);
    },
  },
  {
    id: 'dns-one-dead-address',
    group: 'network',
    section: 'Where a node may point',
    promise: 'of several addresses the forbidden ones are left out and a dead one does not matter',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      await served.resolve({ 'several.test': [[...forbidden, '::1', ...here]] });
      const { chat, upstreams, nodes } = await served.declare([
        {},
        { baseURL: 'http://several.test:PORT/v1', priority: 95 },
      ]);
      const { status, headers } = await chat();
      scene.same('answer', [status, headers.get('x-model-gateway-node')], [200, nodes[1]]);
      scene.same('requests', upstreams[0]?.requests.length, 1);
      scene.saw('the address that is left served');
    },
  },
];
