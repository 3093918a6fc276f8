import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

const hops = 'x-model-gateway-hops';
const calls = [
  ['/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'a' }] }],
  ['/completions', { model: 'm', prompt: 'a' }],
  ['/embeddings', { model: 'm', input: 'a' }],
  ['/responses', { model: 'm', input: 'a' }],
  ['/messages', { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'a' }] }],
  ['/messages/count_tokens', { model: 'm', messages: [{ role: 'user', content: 'a' }] }],
] as const;
const allFormats = ['Responses', 'Messages', 'Completions'];
let open: { close(): Promise<void> }[] = [];
beforeEach(() => {
  open = [];
});
afterEach(() => Promise.all(open.map((each) => each.close())));

async function newGateway(): Promise<GatewayUnderTest> {
  const made = await startGateway();
  open.push(made);
  return made;
}

/** Lists `to` as a node of `from`: with a key of its own, as a person would. */
function list(from: GatewayUnderTest, to: GatewayUnderTest, nativeFormats: string[]): void {
  from.setNode('gateway', {
    baseURL: to.baseURL,
    manualModels: ['m'],
    nativeFormats,
    priority: 10,
    headers: [{ name: 'x-api-key', value: to.key }],
  });
}

describe.each([
  ['asked in the caller’s format', allFormats],
  ['asked in chat-completions', []],
])('gateways that list each other, %s', (_how, formats) => {
  test.each(calls)('one that lists itself ends with 508: %s', async (path, body) => {
    const gateway = await newGateway();
    list(gateway, gateway, formats);
    const answer = await gateway.post(path, body);
    // A count that no node can make is an estimate.
    if (path === '/messages/count_tokens' && formats.length === 0) return expect(answer.status).toBe(200);
    expect(answer.status).toBe(508);
    expect(await answer.text()).toMatch(/passed through two gateways/);
    expect(gateway.done).toHaveLength(3);
  });

  test.each(calls)('two end with 508 while the real node fails: %s', async (path, body) => {
    const [first, second] = await Promise.all([newGateway(), newGateway()]);
    list(first, second, formats);
    list(second, first, formats);
    const node = await startUpstream({ models: ['m'] });
    open.push({ close: () => node.stop() });
    for (const gateway of [first, second]) {
      gateway.setNode('real', {
        baseURL: node.url,
        manualModels: ['m'],
        nativeFormats: formats,
        priority: 90,
      });
    }
    node.respondWith('*', { kind: 'answer', status: 500, body: { error: { message: 'down' } } });
    const answer = await first.post(path, body);
    if (path === '/messages/count_tokens' && formats.length === 0) return expect(answer.status).toBe(200);
    expect(answer.status).toBe(508);
    await answer.text();
    expect(first.done.length + second.done.length).toBe(3);
    expect(node.requests.length).toBe(2);
  });
});

describe('the count', () => {
  let gateway: GatewayUnderTest;
  let node: ScriptedUpstream;
  beforeEach(async () => {
    gateway = await newGateway();
    node = await gateway.addNode('n', { spec: { nativeFormats: allFormats } });
  });

  test.each<[sent: string | undefined, got: string]>([
    [undefined, '1'],
    ['0', '1'],
    ['1', '2'],
  ])('of %j becomes %j at the node', async (sent, got) => {
    for (const [path, body] of calls) {
      const answer = await gateway.post(path, body, { headers: sent === undefined ? {} : { [hops]: sent } });
      expect(answer.status).toBe(200);
      await answer.text();
    }
    expect(
      node.requests.filter(({ method }) => method === 'POST').map(({ headers }) => headers[hops]),
    ).toEqual(calls.map(() => got));
  });

  test.each(['2', '3', '99', '184467440737095516160', '9'.repeat(4_000)])(
    'of %s is refused with 508',
    async (sent) => {
      for (const [path, body] of calls) {
        const answer = await gateway.post(path, body, { headers: { [hops]: sent } });
        expect(answer.status).toBe(508);
        const said = (await answer.json()) as { error: { type: string; code?: string } };
        expect(said.error).toMatchObject(
          path.startsWith('/messages')
            ? { type: 'api_error' }
            : { type: 'server_error', code: 'loop_detected' },
        );
      }
      expect(node.requests).toEqual([]);
    },
  );

  test.each(['', ' ', '-1', '1.0', '1e0', '0x1', '+1', '01', 'one', '1, 1', '0;', '\xa01'])(
    'of %j is no count: 400, and the count does not start again',
    async (sent) => {
      const answer = await gateway.post('/chat/completions', { model: 'm' }, { headers: { [hops]: sent } });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param: null } });
      expect(node.requests).toEqual([]);
    },
  );

  test('is not the node’s own to set', () => {
    expect(() =>
      gateway.setNode('n', { baseURL: node.url, headers: [{ name: 'X-Model-Gateway-Hops', value: '0' }] }),
    ).toThrow(/gateway's own/);
  });
});
