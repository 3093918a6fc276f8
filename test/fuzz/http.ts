import { setTimeout as delay } from 'node:timers/promises';
import { arrivalDelay } from '../bench/statistics.ts';
import { newKey } from '../soak/declared.ts';
import type { Ground } from '../soak/ground.ts';
import { leftOver, takeIdle } from '../soak/sample.ts';
import { answeringUpstream } from './answering-upstream.ts';
import { type Attack, goodRequests, startAttack } from './attack.ts';
import type { Finding, FuzzOptions, FuzzReport } from './fuzz-report.ts';
import { type HonestCaller, startHonestCaller } from './honest-caller.ts';
import { slownessOf } from './honest-windows.ts';

/** What a careless or malicious caller may send while others must hardly notice; half of it is no HTTP at all. */
const pacePerSecond = 200;
const batchSize = 1_000;
const mostGrownBytes = 48 * 1024 * 1024;
const goneMs = 20_000;

/**
 * Sends malformed requests to a gateway on a `ground` without resources, while an honest caller asks: first at a pace, in
 * windows that alternate with good requests at that pace and with none, then as fast as they are answered. Fails when the
 * gateway owes something (`converse.ts`), ends, logs an error, grows, keeps something of a connection, or makes the
 * honest caller slower than `options` allows.
 */
export async function fuzzHttp(ground: Ground, options: FuzzOptions): Promise<FuzzReport> {
  const { seed, runs, slowness } = options;
  const findings: Finding[] = [];
  const found = (reason: string) => findings.push({ target: 'http', case: '', reason });
  const before = await takeIdle(ground);
  await using upstream = await answeringUpstream();
  const { text: key, declared } = newKey('fuzz');
  const off = { healthCheck: { mode: 'None' }, sync: { discovery: 'Never' } };
  const holds = { baseURL: upstream.url, manualModels: ['m'], ...off };
  await ground.declare('fuzz', [declared, { kind: 'UpstreamNode', name: 'fuzz', holds }]);
  const attack = startAttack(ground, key, options.tell);
  let figures: Readonly<Record<string, unknown>>;
  {
    await using honest = await startHonestCaller(ground.port, key);
    await honest.during(slowness.windowMs);
    const heapBefore = await ground.probe.ask('heap');
    const slow = await compare(honest, attack, options);
    options.tell(`http: the honest caller is ${slow.than.nobody.toFixed(2)} times slower than alone`);
    for (const [beside, times] of Object.entries(slow.than)) {
      const text = `an honest caller is ${times.toFixed(2)} times slower beside malformed requests than beside`;
      if (!(times <= slowness.most)) found(`${text} ${beside} (at most ${slowness.most})`);
    }
    await ground.probe.ask('stalls');
    const began = performance.now();
    const fromHere = attack.sent();
    const waiting = attack.wait(seed, options.patient);
    const isLate = () => performance.now() - began > options.limitMs;
    for (let batch = 0; attack.sent() < runs && !attack.isOver() && !isLate(); batch++) {
      if (batch % 10 === 0) options.tell(`http: ${attack.sent()} of ${runs} sent`);
      await attack.flood(attack.make(seed + 10_000 + batch, Math.min(batchSize, runs - attack.sent())));
    }
    const perSecond = ((attack.sent() - fromHere) * 1000) / (performance.now() - began);
    const { stalls, milliseconds } = await ground.probe.ask('stalls');
    await waiting;
    const flooded = await honest.during(0);
    for (const wrong of [...slow.wrong, ...flooded.wrong]) found(`the honest caller: ${wrong}`);
    const heap = await ground.probe.ask('heap');
    const grown = heap.heapUsed + heap.external - heapBefore.heapUsed - heapBefore.external;
    if (grown > mostGrownBytes) found(`memory grew by ${grown} bytes`);
    figures = {
      ...{ honestMs: { ...slow.medianMs, flood: flooded.medianMs }, slower: slow.than },
      honestAnswers: slow.answers + flooded.count,
      ...{ pacePerSecond, floodPerSecond: Math.round(perSecond) },
      loopDelayMs: { p99: arrivalDelay(stalls, milliseconds, 0.99), longest: Math.max(0, ...stalls) },
      grownBytes: grown,
    };
  }
  options.tell(`http: ${attack.sent()} sent; making what was found small`);
  findings.push(...(await attack.findings()));
  await ground.withdraw('fuzz');
  const late = performance.now() + goneMs;
  let left = leftOver(before, await takeIdle(ground));
  // Withdrawn nodes, kept connections and timers go within seconds.
  while (left.length > 0 && performance.now() < late) {
    await delay(500);
    left = leftOver(before, await takeIdle(ground));
  }
  for (const each of left) found(`left over: ${each}`);
  for (const line of ground.log()) {
    if (line['level'] === 'error') found(`logged: ${JSON.stringify(line)}`);
  }
  const { statuses, courses } = attack;
  return { target: 'http', runs: attack.sent(), findings, figures: { statuses, courses, ...figures } };
}

/** The honest caller beside nobody, good requests and malformed ones, as many of both in a second. */
function compare(honest: HonestCaller, attack: Attack, { seed, slowness }: FuzzOptions) {
  const { blocks, windowMs } = slowness;
  const count = Math.ceil((windowMs * pacePerSecond) / 1000);
  return slownessOf(honest, blocks, {
    nobody: async () => () => delay(windowMs),
    good: async () => () => attack.pace(goodRequests(count), pacePerSecond),
    malformed: async (window) => {
      const batch = attack.make(seed + window, count);
      return () => attack.pace(batch, pacePerSecond);
    },
  });
}
