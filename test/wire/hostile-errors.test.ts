import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let hostile: ScriptedUpstream;

beforeAll(async () => {
  gateway = await startGateway();
  hostile = await gateway.addNode('hostile', {
    spec: {
      manualModels: ['bad'],
      nativeFormats: ['Messages', 'Responses', 'Completions'],
    },
  });
  gateway.setNode('chat-only', { baseURL: hostile.url, manualModels: ['converted'] });
  await gateway.addNode('honest', {
    spec: { manualModels: ['m'], nativeFormats: ['Messages', 'Responses', 'Completions'] },
  });
});
afterAll(() => gateway.close());
afterEach(() => hostile.respondWith('*', { kind: 'well' }));

const paths = ['/chat/completions', '/completions', '/responses', '/messages'] as const;
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const values: Readonly<Record<string, string>> = {
  'an object with its own toString': '{"toString":1}',
  'an object with its own valueOf and constructor':
    '{"valueOf":1,"constructor":{"prototype":null},"toString":{}}',
  'an object with __proto__': '{"__proto__":{"polluted":1},"then":1,"toJSON":1,"length":-1}',
  'a name of Object.prototype': '"constructor"',
  'another name of Object.prototype': '"__proto__"',
  'nested lists': deep,
  'a list of a hostile object': '[{"toString":null}]',
  'a number beyond every bound': '1e400',
  'minus zero': '-0',
  'a lone surrogate': '"\\ud800"',
  'a long text': JSON.stringify('x'.repeat(200_000)),
  null: 'null',
  true: 'true',
};

const ask = (path: string, model: string, stream: boolean) =>
  gateway.post(path, {
    model,
    max_tokens: 1,
    stream,
    ...(path === '/responses' ? { input: 'a' } : path === '/completions' ? { prompt: 'a' } : {}),
    ...(path === '/messages' || path === '/chat/completions'
      ? { messages: [{ role: 'user', content: 'a' }] }
      : {}),
  });

/** The events by which a node reports an error in the format of `path`, each with one member of the error replaced. */
function errorEvents(path: string, member: string, value: string): string[] {
  const error = `{"message":"no","${member}":${value}}`;
  const inAll = [`data: {"error":${error}}\n\n`, `data: {"error":${value},"message":"no"}\n\n`];
  const typed = `event: error\ndata: {"type":"error","error":${error}}\n\n`;
  if (path === '/messages') return [...inAll, typed];
  if (path !== '/responses') {
    return [
      ...inAll,
      `data: {"choices":[{"index":0,"delta":{},"finish_reason":"error","error":${error}}]}\n\n`,
    ];
  }
  return [
    ...inAll,
    typed,
    `event: error\ndata: {"type":"error","message":"no","${member === 'type' ? 'code' : member}":${value}}\n\n`,
    `data: {"type":"response.failed","response":{"error":${error}}}\n\n`,
  ];
}

describe.each(paths)('the first event of a stream for %s is an error', (path) => {
  test.each(Object.entries(values))('with %s in any of its members', async (_name, value) => {
    for (const member of ['code', 'type', 'param', 'message']) {
      for (const event of errorEvents(path, member, value)) {
        hostile.respondWith('*', {
          kind: 'answer',
          headers: { 'content-type': 'text/event-stream' },
          body: event,
        });
        const answer = await ask(path, member === 'param' ? 'converted' : 'bad', true);
        const text = await answer.text();
        // `"error": null` is no error: this stream has no end, and breaks off.
        if (answer.status === 200) {
          expect(event).toMatch(/"error":null/);
          continue;
        }
        expect([400, 500, 502, 503], event.slice(0, 200)).toContain(answer.status);
        expect(JSON.parse(text)).toMatchObject({ error: { message: expect.any(String) } });
        expect(text.length).toBeLessThan(5_000);
      }
    }
    const honest = await ask(path, 'm', true);
    expect(await honest.text()).toMatch(/\[DONE\]|message_stop|response\.completed/);
  });
});
