import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

const secret = 'node-secret-0123456789';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  gateway = await startGateway();
  const headers = [{ name: 'x-extra', value: secret }];
  const nativeFormats = ['Messages', 'Responses', 'Completions'];
  upstream = await gateway.addNode('n', { spec: { headers, nativeFormats } });
  gateway.setNode('chat-only', { baseURL: upstream.url, manualModels: ['converted'], headers });
});
afterAll(() => gateway.close());

const content = { messages: [{ role: 'user', content: 'a' }], input: 'a' };
const ask = (path: string, model: string, stream: boolean) =>
  gateway.post(path, {
    model,
    stream,
    max_tokens: 1,
    ...(path === '/completions' ? { prompt: 'a' } : content),
  });

const paths = ['/chat/completions', '/completions', '/responses', '/messages', '/embeddings'];
const said = JSON.stringify(`you sent ${secret}!`);

describe.each([
  ['an object', `{"error":{"message":${said}}}`],
  ['an object behind other members', `{"id":"a", "error" : {"message":${said},"code":401}}`],
  ['a text', `{"error":${said}}`],
  ['vLLM’s', `{"object":"error","message":${said}}`],
  ['Anthropic’s', `{"type":"error","error":{"message":${said}}}`],
  ['in a list', `[{"error":{"message":${said}}}]`],
])('an error in an answer of status 200, %s', (_name, body) => {
  test.each(paths)(
    'passes unchanged, except that repetitions of the credential are masked: %s',
    async (path) => {
      for (const stream of [false, true]) {
        upstream.respondWith('*', { kind: 'answer', status: 200, body });
        const answer = await ask(path, 'm', stream);
        const masked = body.replace(secret, '[redacted]');
        expect([answer.status, await answer.text()]).toEqual([200, masked]);
      }
    },
  );
});

test.each([
  ['an error that repeats nothing', `{"error":{"message":"no"}}`],
  ['no error', `{"error":null,"output":[${said}]}`],
  ['an error that is longer than one is read', `{"error":{"message":"${'x'.repeat(300_000)}"}}`],
])('%s passes byte for byte', async (_name, body) => {
  upstream.respondWith('*', { kind: 'answer', status: 200, body });
  const answer = await ask('/chat/completions', 'm', false);
  expect([answer.status, await answer.text()]).toEqual([200, body]);
});

describe.each([200, 400, 429, 500])('headers of an answer of status %i', (status) => {
  test.each(paths)('repeat no credential: %s', async (path) => {
    const headers = {
      'retry-after': secret,
      'x-ratelimit-key': `Bearer ${secret}`,
      [`x-ratelimit-${secret}`]: '1',
      'x-ratelimit-limit-requests': '60',
      'content-type': `application/json; key=${secret}`,
    };
    upstream.respondWith('*', { kind: 'answer', status, body: '{"error":{"message":"no"}}', headers });
    for (const model of path === '/embeddings' ? ['m'] : ['m', 'converted']) {
      const answer = await ask(path, model, false);
      const all = [...answer.headers].map((field) => field.join(': ')).join('\n');
      expect(all).not.toContain(secret);
      expect(all).toContain('x-ratelimit-limit-requests: 60');
      expect(all).toContain('x-ratelimit-key: Bearer [redacted]');
    }
  });
});
