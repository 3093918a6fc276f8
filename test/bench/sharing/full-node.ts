import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { type GatewayUnderTest, startGateway } from '../../support/gateway.ts';
import { callerPool } from './caller-pool.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

/** How much is asked. */
export interface FullLoad {
  readonly callers: number;
  /** Requests of each caller, one after the other. */
  readonly turns: number;
  /** Requests of the batch key that wait all the time, and requests of the interactive key beside them. */
  readonly batch: number;
  readonly interactive: number;
}

/** What was measured. */
export interface FullFigures {
  /** The most requests at the node at one time, and answers other than 200. */
  readonly most: number;
  readonly refused: number;
  /** Requests per second, relative to those of the node if its slots are always taken. */
  readonly throughput: number;
  /** How long requests of the interactive key waited, in service times: the 99th percentile. */
  readonly wait: number;
}

const slots = 4;
const serviceMs = 50;

/** Callers of one gateway ask a node with four slots; then one key asks beside another that has many requests waiting. */
export async function measureFullNode({
  callers,
  turns,
  batch,
  interactive,
}: FullLoad): Promise<FullFigures> {
  const limit = await direct(callers * turns);
  const { most, refused, perSecond } = await manyCallers(callers, turns);
  return { most, refused, throughput: perSecond / limit, wait: await besideBatch(batch, interactive) };
}

/** Requests per second of the node itself, if four callers ask it without a gateway. */
async function direct(requests: number): Promise<number> {
  await using server = await startModelServer({ serviceMs: () => serviceMs, cached: 0 });
  using pool = callerPool(Number(new URL(server.url).port), 'none');
  const began = performance.now();
  let left = requests;
  const work = async (): Promise<void> => {
    while (left-- > 0) await pool.ask({});
  };
  await Promise.all(Array.from({ length: slots }, work));
  return (requests * 1000) / (performance.now() - began);
}

async function manyCallers(callers: number, turns: number) {
  await using stack = new AsyncDisposableStack();
  const { gateway, server } = await fullNode(stack);
  const pool = stack.use(callerPool(gateway.port, gateway.key));
  let refused = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let turn = 0; turn < turns; turn++) if ((await pool.ask({})).status !== 200) refused += 1;
    }),
  );
  const perSecond = (callers * turns * 1000) / (performance.now() - began);
  return { most: server.most, refused, perSecond };
}

async function besideBatch(batch: number, interactive: number): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const registry = new Registry();
  const { gateway } = await fullNode(stack, registry);
  const many = stack.use(callerPool(gateway.port, gateway.key));
  const person = stack.use(callerPool(gateway.port, gateway.addKey()));
  const ends = new AbortController();
  const waiting = Array.from({ length: batch }, async () => {
    while (!ends.signal.aborted) await many.ask({}, {}, ends.signal).catch(() => undefined);
  });
  while ((await waitingNow(registry)) < batch - slots) await delay(10);
  const waits: number[] = [];
  for (let at = 0; at < interactive; at++) {
    const { status, milliseconds } = await person.ask({});
    if (status !== 200) throw new Error(`the interactive key got ${status}`);
    waits.push((milliseconds - serviceMs) / serviceMs);
  }
  ends.abort();
  await Promise.all(waiting);
  return waits.sort((one, other) => one - other)[Math.ceil(waits.length * 0.99) - 1] ?? Number.NaN;
}

/** A gateway and a node with four slots, for which 2,000 requests may wait. */
async function fullNode(
  stack: AsyncDisposableStack,
  registry = new Registry(),
): Promise<{ gateway: GatewayUnderTest; server: ModelServer }> {
  const gateway = await startGateway({ logLevel: 'error', registry });
  stack.defer(() => gateway.close());
  const server = stack.use(await startModelServer({ serviceMs: () => serviceMs, cached: 0 }));
  const queue = { maxRequests: 2_000, timeoutSeconds: 60 };
  gateway.setNode('n', {
    baseURL: server.url,
    manualModels: ['m'],
    concurrency: { maxRequests: slots, queue },
  });
  return { gateway, server };
}

async function waitingNow(registry: Registry): Promise<number> {
  const metric = await registry.getSingleMetric('modelgateway_node_requests_waiting')?.get();
  return metric?.values[0]?.value ?? 0;
}
