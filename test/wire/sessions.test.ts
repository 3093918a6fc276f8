import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
const nodes = new Map<string, ScriptedUpstream>();

beforeEach(async () => {
  gateway = await startGateway({ logLevel: 'debug', accessLog: 'all' });
  for (const name of ['a', 'b', 'c']) nodes.set(`default/${name}`, await gateway.addNode(name));
});
afterEach(async () => {
  nodes.clear();
  await gateway.close();
});

const session = 'session-of-a-person';
const ask = async (headers: Record<string, string>, members: object = {}, path = '/chat/completions') => {
  const answer = await gateway.post(
    path,
    { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }], ...members },
    { headers },
  );
  await answer.text();
  expect(answer.status).toBe(200);
  return answer.headers.get('x-model-gateway-node') ?? '';
};
const nodesOf = async (times: number, askOnce: () => Promise<string>): Promise<string[]> => {
  const found = new Set<string>();
  for (let turn = 0; turn < times; turn++) found.add(await askOnce());
  return [...found];
};

test('every turn of a session goes to one node, by whatever name, in any format', async () => {
  const [node] = await nodesOf(1, () => ask({ 'x-model-gateway-session': session }));
  const ways = [
    () => ask({ 'x-model-gateway-session': session }),
    () => ask({ 'x-claude-code-session-id': session }, {}, '/messages'),
    () => ask({ session_id: session }, { stream: true }),
    () => ask({}, { prompt_cache_key: session }),
  ];
  for (const way of ways) expect(await nodesOf(10, way)).toEqual([node]);
});

test('sessions are spread, and requests without one are too', async () => {
  const some = Array.from({ length: 30 }, (_, at) => String(at));
  const found = new Set<string>();
  for (const name of some) found.add(await ask({ session_id: name }));
  expect(found.size).toBe(3);
  expect(await nodesOf(60, () => ask({}))).toHaveLength(3);
});

test('a node that fails hands the session to the next of its order, and no attempt is counted for ever', async () => {
  const [first = ''] = await nodesOf(1, () => ask({ session_id: session }));
  nodes.get(first)?.pause();
  const [second] = await nodesOf(10, () => ask({ session_id: session }));
  expect(second).not.toBe(first);
  // Five failures open the circuit; without it every turn would fail over.
  expect(gateway.attempted.filter((one) => one.startsWith(first) && !one.endsWith(' ok'))).toHaveLength(5);
  // More than a share would be passed by if failed attempts were still counted as under way.
  expect(await nodesOf(20, () => ask({ session_id: session }))).toEqual([second]);
});

test('a session that asks much at once gets other nodes too, and its own again afterwards', async () => {
  const [own = ''] = await nodesOf(1, () => ask({ session_id: session }));
  for (const node of nodes.values()) node.respondWith('*', { kind: 'slowFirstByte', milliseconds: 300 });
  const all = await Promise.all(Array.from({ length: 30 }, () => ask({ session_id: session })));
  const count = (node: string) => all.filter((one) => one === node).length;
  for (const node of nodes.keys()) expect(count(node)).toBeLessThan(20);
  expect(count(own)).toBeGreaterThanOrEqual(10);
  for (const node of nodes.values()) node.respondWith('*', undefined);
  expect(await nodesOf(10, () => ask({ session_id: session }))).toEqual([own]);
});

test('the name of a session is in no log', async () => {
  await ask({ 'x-model-gateway-session': session });
  await ask({}, { prompt_cache_key: session });
  expect(gateway.logged.length).toBeGreaterThan(0);
  expect(gateway.logged.join('')).not.toContain(session);
});
