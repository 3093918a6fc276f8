import { type GatewayUnderTest, startGateway } from '../../support/gateway.ts';
import { callerPool, eachOf } from './caller-pool.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

/** How much is asked. */
export interface AgentLoad {
  readonly sessions: number;
  readonly turns: number;
  /** Sessions that two gateways place, on two nodes of weights 1 : 3. */
  readonly placed: number;
}

/** What was measured. */
export interface AgentFigures {
  /** Shares of the requests whose prefix was cached, with sessions and without. */
  readonly hits: number;
  readonly hitsAtRandom: number;
  /** The most requests that one node served, relative to its share. */
  readonly load: number;
  /** Sessions of nodes that live and that moved when another died; sessions that were elsewhere when it was back. */
  readonly movedOthers: number;
  readonly notBack: number;
  readonly moved: number;
  /** How far the shares of two nodes are from 1 : 3, and how many sessions two gateways placed differently. */
  readonly offShare: number;
  readonly differently: number;
}

const names = ['a', 'b', 'c', 'd'];

/** Agents with sessions ask real gateways for simulated model servers. */
export async function measureAgents({ sessions, turns, placed }: AgentLoad): Promise<AgentFigures> {
  const withSessions = await runAgents(sessions, turns, true);
  const atRandom = await runAgents(sessions, turns, false);
  return {
    hits: withSessions.hits,
    hitsAtRandom: atRandom.hits,
    load: withSessions.load,
    ...(await oneNodeDies(sessions)),
    ...(await placeSessions(placed)),
  };
}

async function runAgents(
  sessions: number,
  turns: number,
  named: boolean,
): Promise<{ hits: number; load: number }> {
  await using stack = new AsyncDisposableStack();
  const { gateway, servers } = await fourNodes(stack, sessions);
  const callers = stack.use(callerPool(gateway.port, gateway.key));
  const conversations = Array.from({ length: sessions }, (_, at) => `s-${at}`);
  await eachOf(conversations, sessions, async (conversation) => {
    for (let turn = 1; turn <= turns; turn++) {
      const { status } = await callers.ask(
        { conversation, turn },
        named ? { 'x-model-gateway-session': conversation } : {},
      );
      if (status !== 200) throw new Error(`turn ${turn} of ${conversation}: ${status}`);
    }
  });
  const asked = sessions * turns;
  return {
    hits: servers.reduce((sum, { hits }) => sum + hits, 0) / asked,
    load: (Math.max(...servers.map(({ served }) => served)) * servers.length) / asked,
  };
}

async function oneNodeDies(
  sessions: number,
): Promise<Pick<AgentFigures, 'moved' | 'movedOthers' | 'notBack'>> {
  await using stack = new AsyncDisposableStack();
  const { gateway, servers } = await fourNodes(stack, sessions);
  const callers = stack.use(callerPool(gateway.port, gateway.key));
  const all = Array.from({ length: sessions }, (_, at) => `s-${at}`);
  const ask = () =>
    eachOf(all, 3, async (session) => (await callers.ask({ prompt_cache_key: session })).node);
  const before = await ask();
  const [server] = servers;
  const [name] = names;
  if (server === undefined || name === undefined) throw new Error('no node');
  await server.die();
  const during = await ask();
  await server.comeBack();
  // The controller's check finds it well, and its circuit is forgotten as after a change of its connection.
  gateway.setNode(name, { baseURL: `${server.url}/`, manualModels: ['m'] });
  gateway.setNode(name, { baseURL: server.url, manualModels: ['m'] });
  const after = await ask();
  const count = (is: (node: string, at: number) => boolean) => before.filter(is).length;
  return {
    moved: count((node, at) => node === name && during[at] !== name),
    movedOthers: count((node, at) => node !== name && during[at] !== node),
    notBack: count((node, at) => after[at] !== node),
  };
}

async function placeSessions(placed: number): Promise<Pick<AgentFigures, 'offShare' | 'differently'>> {
  await using stack = new AsyncDisposableStack();
  const light = stack.use(await startModelServer({ serviceMs: () => 0, cached: 0 }));
  const heavy = stack.use(await startModelServer({ serviceMs: () => 0, cached: 0 }));
  const sessions = Array.from({ length: placed }, (_, at) => `s-${at}`);
  const place = async (): Promise<string[]> => {
    const gateway = await startGateway({ logLevel: 'error' });
    stack.defer(() => gateway.close());
    gateway.setNode('light', { baseURL: light.url, manualModels: ['m'], weight: 1 });
    gateway.setNode('heavy', { baseURL: heavy.url, manualModels: ['m'], weight: 3 });
    const callers = stack.use(callerPool(gateway.port, gateway.key));
    return eachOf(sessions, 3, async (session) => (await callers.ask({}, { session_id: session })).node);
  };
  const [one, other] = [await place(), await place()];
  const share = one.filter((node) => node === 'light').length / placed;
  return {
    offShare: Math.abs(share - 1 / 4),
    differently: one.filter((node, at) => node !== other[at]).length,
  };
}

/** A gateway and four alike nodes. Each caches twice as many conversations as its share. */
async function fourNodes(
  stack: AsyncDisposableStack,
  sessions: number,
): Promise<{ gateway: GatewayUnderTest; servers: ModelServer[] }> {
  const gateway = await startGateway({ logLevel: 'error' });
  stack.defer(() => gateway.close());
  const servers: ModelServer[] = [];
  for (const name of names) {
    const server = stack.use(
      await startModelServer({ serviceMs: () => 5 + Math.random() * 30, cached: Math.ceil(sessions / 2) }),
    );
    servers.push(server);
    gateway.setNode(name, { baseURL: server.url, manualModels: ['m'] });
  }
  return { gateway, servers };
}
