import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  gateway = await startGateway();
  upstream = await gateway.addNode('n', { upstream: { chunks: 3 } });
});
afterAll(() => gateway.close());

const question = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };

test('a plain answer passes byte for byte, named and counted', async () => {
  const answer = await gateway.post('/chat/completions', question);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('x-model-gateway-node')).toBe('default/n');
  expect(answer.headers.get('x-model-gateway-attempts')).toBe('1');
  expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  const body = (await answer.json()) as { choices: unknown[] };
  expect(body.choices).toHaveLength(1);
  expect(upstream.requestsTo('/chat/completions').at(-1)?.body.toString()).toBe(JSON.stringify(question));
});

test('a stream passes byte for byte', async () => {
  const direct = await fetch(`${upstream.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...question, stream: true }),
  });
  const answer = await gateway.post('/chat/completions', { ...question, stream: true });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const text = await answer.text();
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
  expect(text.replace(/chatcmpl-\w+/g, 'id')).toBe((await direct.text()).replace(/chatcmpl-\w+/g, 'id'));
});
