import { setTimeout as delay } from 'node:timers/promises';
import type { Ground } from '../soak/ground.ts';
import type { Finding, FuzzOptions, FuzzReport } from './fuzz-report.ts';
import { judgeAnswer } from './judge-answer.ts';
import { findingOf, sumOf } from './type-cases.ts';
import { beHonest, deathOf, forgetKey, openStage, whatIsLeft } from './type-stage.ts';
import { mark, type TrafficCase, typeTraffic } from './type-traffic.ts';

const lanes = 24;
/** What is wrong with one thing is wrong with many. */
const mostFindings = 8;

interface Numbered {
  readonly name: string;
  readonly index: number;
  readonly asked: TrafficCase;
}

/** Sends confused bodies and lets a node give confused answers, many at once, beside an honest caller. */
export async function fuzzSockets(
  newGround: () => Promise<Ground>,
  options: FuzzOptions,
): Promise<Omit<FuzzReport, 'target'>> {
  const { runs, seed, tell } = options;
  const findings: Finding[] = [];
  const statuses: Record<string, number> = {};
  const honestMs: number[] = [];
  const next = numbered(runs, seed);
  let stage = await openStage(newGround);
  let sent = 0;
  let serial = 0;
  let stages = 1;
  const found = ({ name, index, asked }: Numbered, reason: string) => {
    findings.push(findingOf(name, seed, index, asked.confused, reason));
    tell(`types: ${name}, case ${index}: ${reason.slice(0, 300)}`);
  };
  const ask = async (each: Numbered): Promise<string | undefined> => {
    const id = `${mark}-${serial++}-`;
    const { path, answer, body } = each.asked;
    if (answer !== undefined) stage.node.answer(id, answer);
    const began = performance.now();
    try {
      const key = path === '/v1/keys' ? stage.master : stage.key;
      const reply = await stage.asking.ask({ path, key, body: body.replaceAll(mark, id) });
      statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
      if (reply.status === 201) await forgetKey(stage, reply.text);
      return judgeAnswer(each.asked, reply, performance.now() - began);
    } finally {
      stage.node.forget(id);
    }
  };
  const isAlive = () => {
    try {
      stage.ground.alive();
      return true;
    } catch {
      return false;
    }
  };
  /** Asks from every lane until all is asked, or the gateway has ended: answers what was under way then. */
  const flood = async (): Promise<Numbered[]> => {
    const lost: Numbered[] = [];
    let over = false;
    const lane = async () => {
      while (!over && findings.length < mostFindings) {
        const { value: each } = next.next();
        if (each === undefined) return;
        sent += 1;
        if (sent % 10_000 === 0) tell(`types: ${sent} of ${runs} sent`);
        try {
          const wrong = await ask(each);
          if (wrong !== undefined) found(each, wrong);
        } catch (error) {
          // A gateway that ends takes all connections with it; that it has ended is known a moment later.
          await delay(200);
          if (isAlive()) found(each, String(error));
          else {
            over = true;
            lost.push(each);
          }
        }
      }
    };
    const stop = new AbortController();
    const honest = beHonest(stage, honestMs, stop.signal, async (reason) => {
      await delay(200);
      if (isAlive()) findings.push({ target: 'types', case: '', reason });
    });
    await Promise.all(Array.from({ length: lanes }, lane));
    stop.abort();
    await honest;
    return lost;
  };
  try {
    for (;;) {
      const lost = await flood();
      if (isAlive()) break;
      // One of those that were under way did it: each alone, at a gateway of its own where one ends again.
      for (const each of lost) {
        if (findings.length >= mostFindings) break;
        if (!isAlive()) {
          await stage[Symbol.asyncDispose]();
          stage = await openStage(newGround);
          stages += 1;
        }
        await ask(each).catch(() => undefined);
        await delay(200);
        if (!isAlive()) found(each, `after ${sent} cases the gateway ended: ${deathOf(stage.ground)}`);
      }
      if (findings.length >= mostFindings) break;
      if (!isAlive()) {
        await stage[Symbol.asyncDispose]();
        stage = await openStage(newGround);
        stages += 1;
      }
    }
    if (isAlive()) {
      for (const line of stage.ground
        .log()
        .filter(({ level }) => level === 'error')
        .slice(0, 5)) {
        findings.push({
          target: 'types',
          case: '',
          reason: `logged: ${JSON.stringify(line).slice(0, 1500)}`,
        });
      }
      findings.push(...(await whatIsLeft(stage)));
    }
  } finally {
    await stage[Symbol.asyncDispose]();
  }
  honestMs.sort((one, other) => one - other);
  const honest = {
    ...{
      answers: honestMs.length,
      medianMs: honestMs[honestMs.length >> 1] ?? 0,
      longestMs: honestMs.at(-1) ?? 0,
    },
  };
  return { runs: sent, findings, figures: { statuses, honest, gateways: stages } };
}

/** The cases of all kinds in turns, each kind as often as its share says. */
function* numbered(runs: number, seed: number): Generator<Numbered> {
  const whole = sumOf(typeTraffic);
  const rounds = typeTraffic.map(({ name, share, cases }) => {
    const count = Math.ceil((runs * share) / whole);
    return { name, count, given: 0, cases: cases(count, seed) };
  });
  for (let round = 1; rounds.some(({ given, count }) => given < count); round++) {
    for (const each of rounds) {
      // So many of each that all come to their end together.
      const due = Math.ceil((each.count * round) / Math.max(1, Math.ceil(runs / 100)));
      while (each.given < Math.min(due, each.count)) {
        const { value: asked } = each.cases.next();
        each.given += 1;
        if (asked !== undefined) yield { name: each.name, index: each.given - 1, asked };
      }
    }
  }
}
