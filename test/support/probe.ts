// Loaded into the product's process before its own code (NODE_OPTIONS=--import): answers questions about the inside of the
// process over a connection to 127.0.0.1:PROBE_PORT, a line of JSON each. `probe-connection.ts` asks.
import { connect } from 'node:net';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { queryObjects } from 'node:v8';
import { isMainThread } from 'node:worker_threads';
import { RequestBody } from '../../src/gateway/admission/body.ts';
import { Caller } from '../../src/gateway/answer/caller.ts';
import { StreamWatch } from '../../src/gateway/answer/stream-watch.ts';
import { Attempt } from '../../src/gateway/attempt/attempt.ts';
import { Conversion } from '../../src/gateway/conversion/conversion.ts';
import { ConvertedPlain } from '../../src/gateway/conversion/converted-plain.ts';
import { ConvertedStreaming } from '../../src/gateway/conversion/converted-stream.ts';
import { Progress } from '../../src/gateway/server/progress.ts';
import { collectAll } from '../../src/runtime/node-internals.ts';
import { Exchange } from '../../src/upstream/exchange.ts';
import { Pool } from '../../src/upstream/pool.ts';
import { Slot } from '../../src/upstream/slot.ts';

type Constructor = Parameters<typeof queryObjects>[0];

/** What belongs to one request, and must be gone with it. */
const ours = { Attempt, Caller, Conversion, ConvertedPlain, ConvertedStreaming, Exchange, Progress };
const ofConnections = { Pool, RequestBody, Slot, StreamWatch };

if (isMainThread) answerQuestions(Number(process.env['PROBE_PORT']));

function answerQuestions(port: number): void {
  let stalls: number[] = [];
  let began = performance.now();
  let last = began;
  setInterval(() => {
    const now = performance.now();
    if (now - last >= 2) stalls.push(now - last - 1);
    last = now;
  }, 1).unref();
  const warnings: string[] = [];
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') warnings.push(`${name}: ${message}`);
  });
  /** What we do here ourselves is no stall of the product's. */
  const unmeasured = <T>(work: () => T): T => {
    const from = performance.now();
    const result = work();
    const now = performance.now();
    began += now - from;
    last = now;
    return result;
  };
  const answers: Readonly<Record<string, () => unknown>> = {
    stalls: () => {
      const now = performance.now();
      const answer = { stalls, milliseconds: now - began };
      stalls = [];
      began = now;
      return answer;
    },
    heap: () =>
      unmeasured(() => {
        collectAll();
        const { heapUsed, external, arrayBuffers } = process.memoryUsage();
        return { heapUsed, external, arrayBuffers };
      }),
    objects: () => unmeasured(countObjects),
    active: () => ({
      resources: countOf(process.getActiveResourcesInfo()),
      listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
      warnings,
    }),
  };
  const socket = connect(port, '127.0.0.1').unref();
  socket.on('error', () => undefined);
  createInterface({ input: socket }).on('line', (question) => {
    socket.write(`${JSON.stringify(answers[question]?.() ?? null)}\n`);
  });
}

/** Live objects by their class, after a collection. */
function countObjects(): Record<string, number> {
  const { constructor: Timeout } = setTimeout(() => undefined, 0).unref();
  const nodes = { AbortSignal, Function, Map, Promise, Timeout: Timeout as Constructor };
  const classes: Record<string, unknown> = { ...ours, ...ofConnections, ...nodes };
  return Object.fromEntries(
    Object.entries(classes).map(([name, type]) => [
      name,
      Number(queryObjects(type as Constructor, { format: 'count' })),
    ]),
  );
}

function countOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
