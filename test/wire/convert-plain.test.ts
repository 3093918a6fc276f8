import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let node: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway();
  node = await gateway.addNode('n', { spec: { models: [{ name: 'm', aliases: ['alias'] }] } });
});
afterEach(() => gateway.close());

const bodies = {
  '/messages': { model: 'alias', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
  '/responses': { model: 'alias', input: 'Hello' },
  '/completions': { model: 'alias', prompt: 'Hello' },
} as const;

test.each([
  ['/messages', 'messages->chat', { type: 'message', content: [{ type: 'text', text: 'w0 w1 w2 w3 w4 ' }] }],
  [
    '/responses',
    'responses->chat',
    { object: 'response', status: 'completed', output: [{ content: [{ text: 'w0 w1 w2 w3 w4 ' }] }] },
  ],
  [
    '/completions',
    'completions->chat',
    { object: 'text_completion', choices: [{ text: 'w0 w1 w2 w3 w4 ' }] },
  ],
] as const)('%s: a chat-only node is asked in chat-completions', async (path, name, expected) => {
  const answer = await gateway.post(path, bodies[path]);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-model-gateway-conversion')).toBe(name);
  expect(answer.headers.get('x-model-gateway-dropped')).toBeNull();
  expect(answer.headers.get('x-model-gateway-node')).toBe('default/n');
  expect(answer.headers.get('x-model-gateway-attempts')).toBe('1');
  expect(await answer.json()).toMatchObject({ ...expected, model: 'alias' });
  const [request] = node.requests;
  expect(request?.path).toBe('/v1/chat/completions');
  expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
  });
});

test.each(['/messages', '/responses', '/completions'] as const)('%s streamed', async (path) => {
  const answer = await gateway.post(path, { ...bodies[path], stream: true });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('no-cache');
  expect(answer.headers.get('x-accel-buffering')).toBe('no');
  const text = await answer.text();
  expect(text).toContain('w4 ');
  expect(text).toMatch(path === '/messages' ? /event: message_stop\n.*\n\n$/ : /data: \[DONE\]\n\n$/);
});
