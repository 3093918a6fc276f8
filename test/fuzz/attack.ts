import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import type { Ground } from '../soak/ground.ts';
import { type Conversation, converse } from './converse.ts';
import { expectedAnswers } from './expected-answers.ts';
import { type Finding, failuresOf } from './fuzz-report.ts';
import { keyMark, type MalformedRequest, malformedRequest } from './malformed-requests.ts';

/** Malformed requests to one gateway, and what came of them. */
export interface Attack {
  readonly sent: () => number;
  /** Whether so much was found that no more is sent. */
  readonly isOver: () => boolean;
  /** Answers by status, connections by their course. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly courses: Readonly<Record<string, number>>;
  /** Makes the cases of one seed. It takes about as long as a gateway takes to answer them, so do it before measuring. */
  make(seed: number, count: number): Batch;
  /** Sends them as fast as they are answered. */
  flood(batch: Batch): Promise<void>;
  /** Begins so many in a second, whatever becomes of them. */
  pace(batch: Batch, perSecond: number): Promise<void>;
  /** Halves of requests whose callers wait until the gateway gives them up. */
  wait(seed: number, count: number): Promise<void>;
  /** What was found, made small. */
  findings(): Promise<Finding[]>;
}

interface Batch {
  readonly seed: number;
  readonly cases: readonly MalformedRequest[];
}

/** Connections at one time in a flood. */
const lanes = 32;
/** What is wrong with one thing is wrong with many. */
const mostFindings = 5;
const shrinkMs = 60_000;

export function startAttack(
  { port, alive }: Pick<Ground, 'port' | 'alive'>,
  key: string,
  tell: (line: string) => void,
): Attack {
  const statuses: Record<string, number> = {};
  const courses: Record<string, number> = {};
  const failed: { seed: number; index: number; finding: Finding }[] = [];
  const others: Finding[] = [];
  let sent = 0;
  const count = ({ statuses: seen, course }: Conversation) => {
    sent += 1;
    courses[course] = (courses[course] ?? 0) + 1;
    for (const status of seen) statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const isOver = () => failed.length >= mostFindings;
  const send = async ({ seed, cases }: Batch, index: number) => {
    const request = cases[index];
    if (request === undefined || isOver()) return;
    try {
      const conversation = await converse(port, request, key);
      if (request.kind !== 'good') count(conversation);
    } catch (error) {
      sent += 1;
      failed.push({ seed, index, finding: findingOf(request, error) });
      tell(
        `http: seed ${seed}, case ${index} (${request.kind}, ${request.leave}): ${String(error).slice(0, 500)}`,
      );
    }
  };
  return {
    ...{ statuses, courses, sent: () => sent, isOver },
    make: (seed, numRuns) => ({ seed, cases: fc.sample(malformedRequest, { seed, numRuns }) }),
    async flood(batch) {
      let next = 0;
      const lane = async () => {
        while (next < batch.cases.length) await send(batch, next++);
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      alive();
    },
    async pace(batch, perSecond) {
      const began = performance.now();
      await Promise.all(
        batch.cases.map(async (_, index) => {
          await delay(Math.max(0, began + (index * 1000) / perSecond - performance.now()));
          await send(batch, index);
        }),
      );
      alive();
    },
    async wait(seed, numRuns) {
      const isHalf = ({ leave, bytes }: MalformedRequest) =>
        leave === 'wait' && bytes.length > 0 && expectedAnswers(bytes).rest === 'more';
      const halves = fc.sample(malformedRequest.filter(isHalf), { seed, numRuns });
      await Promise.all(
        halves.map(async (request) => {
          try {
            count(await converse(port, request, key, true));
          } catch (error) {
            others.push(findingOf(request, error));
          }
        }),
      );
    },
    async findings() {
      const found = [...others];
      for (const { seed, index, finding } of failed) {
        const property = fc.asyncProperty(malformedRequest, async (request) => {
          await converse(port, request, key);
          alive();
        });
        const replay = { seed, path: String(index), numRuns: 1, interruptAfterTimeLimit: shrinkMs };
        const small = failuresOf('http', await fc.check(property, replay));
        found.push(...(small.length > 0 ? small : [finding]));
      }
      return found;
    },
  };
}

const body = '{"model":"m","messages":[{"role":"user","content":"Hello"}]}';
const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${keyMark}\r\n`;

function findingOf(request: MalformedRequest, error: unknown): Finding {
  const text = JSON.stringify({ ...request, bytes: request.bytes.toString('latin1') });
  return { target: 'http', case: text.slice(0, 4000), reason: String(error).slice(0, 1500) };
}

/** As many requests that are right, on a connection each, as malformed ones are. */
export function goodRequests(count: number): Batch {
  const bytes = Buffer.from(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  return {
    seed: 0,
    cases: Array.from({ length: count }, () => ({ kind: 'good', bytes, pieces: 1, leave: 'wait' })),
  };
}
