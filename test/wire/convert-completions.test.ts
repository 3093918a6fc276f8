import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let node: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway();
  node = await gateway.addNode('n');
});
afterEach(() => gateway.close());

interface Choice {
  readonly index: number;
  readonly text: string;
  readonly finish_reason: string | null;
}
const ask = (body: object, init?: RequestInit) => gateway.post('/completions', { model: 'm', ...body }, init);
const prompts = Array.from({ length: 8 }, (_, i) => `p${i}`);

/** Lets the node answer each prompt with itself, in capitals, later the earlier it was asked. */
function answerPrompts(): { running: number; most: number } {
  const seen = { running: 0, most: 0 };
  node.respondWith('/chat/completions', (request, count) => ({
    kind: 'run',
    run: async ({ response }) => {
      seen.running += 1;
      seen.most = Math.max(seen.most, seen.running);
      const { messages, stream } = JSON.parse(request.body.toString());
      const text = String(messages[0].content).toUpperCase();
      const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 };
      await new Promise((resolve) => setTimeout(resolve, 40 - 2 * count));
      seen.running -= 1;
      if (stream !== true) {
        response.end(
          JSON.stringify({
            choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }],
            usage,
          }),
        );
        return;
      }
      const delta = { choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }] };
      response.end(
        `data: ${JSON.stringify(delta)}\n\ndata: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
      );
    },
  }));
  return seen;
}

test('several prompts: one call each, a few at once, merged in order', async () => {
  const seen = answerPrompts();
  const answer = await ask({ prompt: prompts, echo: true, max_tokens: 5 });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('x-model-gateway-attempts')).toBe('1');
  const { choices, usage } = (await answer.json()) as { choices: Choice[]; usage: object };
  expect(choices.map(({ index, text }) => `${index} ${text}`)).toEqual(
    prompts.map((p, i) => `${i} ${p}P${i}`),
  );
  expect(usage).toMatchObject({ prompt_tokens: 16, completion_tokens: 8, total_tokens: 24 });
  expect(seen.most).toBeGreaterThan(1);
  expect(seen.most).toBeLessThanOrEqual(4);
  expect(node.requests).toHaveLength(8);
});

test('streamed: one choice after the other, one end', async () => {
  answerPrompts();
  const answer = await ask({
    prompt: ['a', 'b'],
    n: 2,
    stream: true,
    stream_options: { include_usage: true },
  });
  const events = (await answer.text()).trim().split('\n\n');
  expect(events.at(-1)).toBe('data: [DONE]');
  expect(events.filter((event) => event.includes('[DONE]'))).toHaveLength(1);
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)));
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  const texts = ['', '', '', ''];
  for (const { choices } of chunks)
    for (const { index, text } of choices as Choice[]) texts[index] = (texts[index] ?? '') + text;
  expect(texts).toEqual(['A', 'A', 'B', 'B']);
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 12 } });
});

test('streamed: every choice is asked for the whole of a long prompt, small or large', async () => {
  answerPrompts();
  for (const prompt of ['a long prompt '.repeat(100), 'a longer prompt '.repeat(2_000)]) {
    const before = node.requests.length;
    const answer = await ask({ prompt, n: 3, stream: true });
    expect(await answer.text()).toContain('[DONE]');
    const asked = node.requests.slice(before).map(({ body }) => JSON.parse(body.toString()).messages);
    expect(asked).toEqual(Array.from({ length: 3 }, () => [{ role: 'user', content: prompt }]));
  }
});

test('what a stream of several choices holds is free when it ends, and when its caller leaves', async () => {
  const small = await startGateway({ limits: { bufferedBytes: 260_000 } });
  try {
    const upstream = await small.addNode('n');
    const prompt = 'a longer prompt '.repeat(4_000);
    const stream = (init?: RequestInit) =>
      small.post('/completions', { model: 'm', prompt, n: 3, stream: true }, init);
    for (let turn = 0; turn < 4; turn++) expect(await (await stream()).text()).toContain('[DONE]');
    upstream.respondWith('/chat/completions', (_request, count) =>
      count % 2 === 1 ? { kind: 'hang' } : undefined,
    );
    for (let turn = 1; turn <= 4; turn++) {
      const abort = new AbortController();
      const answer = await stream({ signal: abort.signal });
      expect(answer.status).toBe(200);
      await upstream.waitFor((requests) => requests.length === 12 + 2 * turn);
      abort.abort();
      await upstream.waitFor((requests) => requests.at(-1)?.clientGoneTime !== undefined);
    }
  } finally {
    await small.close();
  }
});

test('one call that fails is a failed attempt: the others are given up, the next node is asked for all', async () => {
  const other = await gateway.addNode('other', { spec: { priority: 10 } });
  node.respondWith('/chat/completions', (_request, count) =>
    count === 2 ? { kind: 'answer', status: 503, body: {} } : { kind: 'hang' },
  );
  const answer = await ask({ prompt: prompts });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('x-model-gateway-node')).toBe('default/other');
  expect(((await answer.json()) as { choices: Choice[] }).choices).toHaveLength(8);
  await node.waitFor((requests) => requests.filter((r) => r.clientGoneTime !== undefined).length === 3);
  expect(node.requests).toHaveLength(4);
  expect(other.requests).toHaveLength(8);
});

test('a later choice that fails ends the stream as broken', async () => {
  node.respondWith('/chat/completions', (_request, count) =>
    count === 1 ? { kind: 'answer', status: 503, body: { error: { message: 'no more' } } } : undefined,
  );
  const text = await (await ask({ prompt: ['a', 'b'], stream: true })).text();
  expect(text).toMatch(/data: \{"error":\{"message":"no more".*\n\n$/);
  expect(text).not.toContain('[DONE]');
  expect(text).toContain('w4');
});

test('a caller that leaves ends every call', async () => {
  node.respondWith('/chat/completions', { kind: 'hang' });
  const abort = new AbortController();
  const answer = ask({ prompt: prompts }, { signal: abort.signal }).catch(() => undefined);
  await node.waitFor((requests) => requests.length === 4);
  abort.abort();
  await answer;
  await node.waitFor((requests) => requests.every((r) => r.clientGoneTime !== undefined), 1000);
  expect(node.requests).toHaveLength(4);
});
