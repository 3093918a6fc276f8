import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { long } from '../support/long.ts';
import { measured } from '../support/measured.ts';
import type { RoleProcess } from '../support/processes.ts';
import { resourcePathOf } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { steadyLoad } from '../support/steady-load.ts';

let stage: Stage;
afterEach(() => stage?.[Symbol.asyncDispose]());

const churned = long ? 5_000 : 300;
test(`${churned} keys made and deleted leave a gateway as quick and as small as before`, async () => {
  stage = await startStage({ namespaces: ['churn'], roles: [] });
  const probe = fileURLToPath(new URL('../support/heap-on-signal.ts', import.meta.url));
  for (const role of ['controller', 'gateway'] as const) {
    await (await stage.start(role, { env: { NODE_OPTIONS: `--import=${probe}` } })).whenReady();
  }
  const { resources, home } = stage;
  await stage.addNode('node', { upstream: { models: ['m'] } });
  const caller = stage.caller(await resources.addKey(home, 'caller'));
  await eventually('the key opens', async () => (await caller.chat('m')).status === 200);
  /** What is left after a garbage collection, in MiB. */
  const heap = async (process: RoleProcess): Promise<number> => {
    const reports = () => process.log().filter(({ msg }) => msg === 'Heap');
    const before = reports().length;
    process.signal('SIGUSR2');
    await eventually('it tells its heap', () => reports().length > before, 30_000);
    return Number(reports().at(-1)?.['bytes']) / 1024 ** 2;
  };
  const inTurns = async (work: (number: number) => Promise<unknown>): Promise<void> => {
    let next = 0;
    const worker = async () => {
      while (next < churned) await work(next++);
    };
    await Promise.all(Array.from({ length: 16 }, worker));
  };
  const texts = new Map<number, string>();
  const round = async (): Promise<void> => {
    await inTurns(async (number) => texts.set(number, await resources.addKey(home, `churn-${number}`)));
    const began = performance.now();
    await eventually('the last one opens', async () => {
      const answer = await stage.caller(texts.get(churned - 1) ?? '').send('GET', '/models');
      return answer.status === 200;
    });
    measured('the last of many keys → it opens', performance.now() - began, 5_000);
    await inTurns((number) => resources.remove('APIKey', home, `churn-${number}`));
    await eventually('the last one is refused', async () => {
      const answer = await stage.caller(texts.get(churned - 1) ?? '').send('GET', '/models');
      return answer.status === 401;
    });
  };
  const load = steadyLoad(caller, 'm', 10);
  await round();
  const processes = [...stage.gateways, ...stage.controllers];
  const before = await Promise.all(processes.map(heap));
  await round();
  const { sent, failures } = await load.stop();
  const after = await Promise.all(processes.map(heap));
  const grown = after.map((mib, index) => Math.round((mib - (before[index] ?? 0)) * 10) / 10);
  console.log(
    `measured: ${2 * churned} keys made and deleted: ${failures.length} of ${sent} requests failed; ` +
      `heaps after the first half: ${before.map(Math.round).join(', ')} MiB; more after the second: ${grown.join(', ')} MiB`,
  );
  expect(failures).toEqual([]);
  for (const mib of grown) expect(mib).toBeLessThan(10);
  const { items } = (await stage.cluster.client.ask('GET', resourcePathOf('APIKey', home))) as {
    items: unknown[];
  };
  expect(items).toHaveLength(1);
  expect((await stage.controllers[0]?.probe('/livez'))?.status).toBe(200);
}, 600_000);
