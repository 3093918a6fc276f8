import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';

let gateway: GatewayUnderTest;

beforeEach(async () => {
  gateway = await startGateway({ limits: { keepAliveMs: 20 } });
});
afterEach(() => gateway.close());

test.each(['/embeddings', '/messages/count_tokens'])(
  '"stream": true changes nothing for %s',
  async (path) => {
    const node = await gateway.addNode('n', { spec: { nativeFormats: ['Messages'] } });
    node.respondWith('*', {
      kind: 'slowFirstByte',
      milliseconds: 200,
      next: { kind: 'answer', body: { data: [], input_tokens: 1 } },
    });
    const answer = await gateway.post(path, { model: 'm', input: 'a', messages: [], stream: true });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect([answer.status, await answer.json()]).toEqual([200, { data: [], input_tokens: 1 }]);
    expect(node.requests).toHaveLength(1);
  },
);

test('an answer of 204 has no content-length, whatever the node says', async () => {
  const node = await gateway.addNode('n');
  node.respondWith('/chat/completions', {
    kind: 'raw',
    bytes: 'HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n',
  });
  const answer = await gateway.post('/chat/completions', { model: 'm', messages: [] });
  expect([answer.status, answer.headers.get('content-length')]).toEqual([204, null]);
});
