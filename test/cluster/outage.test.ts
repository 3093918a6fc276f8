import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { long } from '../support/long.ts';
import { measured } from '../support/measured.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { steadyLoad } from '../support/steady-load.ts';

const outageMs = long ? 600_000 : 60_000;
vi.setConfig({ testTimeout: outageMs + 140_000 });
/** The watch backs off to 30 s while the server is away, ±. */
const convergenceLimitMs = 45_000;
let plane: ControlPlane;
let stage: Stage;
beforeAll(async () => {
  plane = await startControlPlane();
  stage = await startStage({ cluster: clusterAt(plane), namespaces: ['outage'] });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await plane?.stop();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('no request fails while the API server is away, and all converges once it is back', async () => {
  const upstream = { models: ['m', 'n'], chunks: 5, chunkDelayMilliseconds: 100 };
  await stage.addNode('one', { upstream });
  await stage.addNode('two', { upstream });
  const through = { models: ['long'], chunks: (outageMs + 15_000) / 1_000, chunkDelayMilliseconds: 1_000 };
  await stage.addNode('long', { upstream: through });
  for (const name of ['one', 'two', 'long']) {
    await stage.until('ready', 'UpstreamNode', name, (node) => node.status?.phase === 'ready');
  }
  const { resources, home } = stage;
  const key = await resources.addKey(home, 'caller');
  const master = stage.caller(await resources.addKey(home, 'master', {}, 'MasterKey'));
  const expirationTime = new Date(Date.now() + outageMs / 2).toISOString().replace(/\.\d+Z$/, 'Z');
  const expiring = stage.caller(await resources.addKey(home, 'expiring', { expirationTime }));
  await eventually('the last key opens', async () => (await expiring.chat('m')).status === 200);
  await eventually('so does the master', async () => (await master.send('GET', '/keys')).status === 200);

  const caller = stage.caller(key);
  const load = steadyLoad(caller, 'm', 20);
  const longStream = fetchStream(key);
  await pause(2_000);
  const stopped = performance.now();
  await plane.stopApiServer();

  // What it holds it goes on serving; what it must write, it refuses in good time.
  const created = await master.send('POST', '/keys', {});
  expect({ status: created.status, code: created.code }).toEqual({
    status: 503,
    code: 'service_unavailable',
  });
  measured('POST /keys without an API server → 503', performance.now() - stopped, 15_000);
  expect((await master.send('GET', '/keys')).status).toBe(200);

  // A gateway that starts now knows no key: it must not answer 401 to good ones, but get no traffic at all.
  const late = await stage.start('gateway');
  await pause(3_000);
  const [ready, live] = [await late.probe('/readyz'), await late.probe('/livez')];
  expect({ ready: ready.status, live: live.status }).toEqual({ ready: 503, live: 200 });
  expect(ready.body).toContain(
    'the first complete list of the resources has not arrived yet: UpstreamNode in ',
  );
  expect(ready.body).toMatch(/last failure, of .*: the API server gave no usable answer \(Unreachable/);
  expect(() => late.baseURL()).toThrow('serves no traffic');
  expect(late.log().map(({ msg }) => msg)).toContain(
    'Watch failed; the last content stays in force until it works again',
  );

  // The leader cannot renew its lease; it ends rather than work on beside another one.
  expect(await stage.controllers[0]?.stop('SIGCONT')).toBe(1);
  expect(stage.controllers[0]?.log().at(-1)?.msg).toBe('Lost the lease');

  await eventually(
    'expiry needs no API server',
    async () => (await expiring.chat('m')).status === 401,
    outageMs,
  );
  await pause(outageMs - (performance.now() - stopped));
  expect((await stage.gateways[0]?.probe('/readyz'))?.status).toBe(200);
  await plane.startApiServer();
  const back = performance.now();

  await stage.start('controller');
  await resources.patch('UpstreamNode', home, 'one', { spec: { enabled: false } });
  await resources.patch('UpstreamNode', home, 'two', { spec: { models: [{ name: 'n', enabled: false }] } });
  await eventually(
    'the change bites',
    async () => (await caller.chat('n')).code === 'model_disabled',
    convergenceLimitMs,
  );
  measured('API server back → a change bites', performance.now() - back, convergenceLimitMs);
  await late.whenReady(convergenceLimitMs);
  measured(
    'API server back → a gateway started without one is ready',
    performance.now() - back,
    convergenceLimitMs,
  );
  expect((await stage.caller(key, 1).chat('m')).status).toBe(200);
  await stage.until(
    'the controller works again',
    'UpstreamNode',
    'two',
    (node) => node.status?.['enabledModelCount'] === 1,
  );
  const { value } = JSON.parse((await master.send('POST', '/keys', {})).text) as { value: string };
  expect((await stage.caller(value).chat('m')).status).toBe(200);

  expect(await longStream).toMatch(/data: \[DONE\]\n\n$/);
  const { sent, failures } = await load.stop();
  console.log(
    `measured: ${sent} requests, half of them streams, over an outage of ${outageMs / 1_000} s: ${failures.length} failed`,
  );
  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThan((outageMs / 1_000) * 10);
});

/** One stream that lasts longer than the outage. */
async function fetchStream(key: string): Promise<string> {
  const answer = await fetch(`${stage.gateways[0]?.baseURL()}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'long', stream: true, messages: [{ role: 'user', content: 'Go on' }] }),
  });
  return answer.text();
}
