import { setTimeout as delay } from 'node:timers/promises';
import type { Behaviour } from '../support/upstream-behaviours.ts';
import { chatText } from './ask.ts';
import { failsOver, shortTimeouts, toldAsError, toldInStream, wellText } from './expected.ts';
import type { Fault } from './fault.ts';

const html = '<!doctype html><title>Oops</title><h1>Something went wrong</h1>';
const htmlHeaders = { 'content-type': 'text/html; charset=utf-8' };

/** A behaviour after which the next node must answer, so that the caller notices nothing. */
function nextAnswers(
  id: string,
  what: string,
  behaviour: Behaviour,
  streams: readonly boolean[] = [false, true],
): Fault {
  return {
    ...{ id: `upstream-${id}`, group: 'upstream', section: 'Failover', form: 'short' },
    promise: `${what}: the next node answers and the caller notices nothing`,
    async run(scene) {
      await failsOver(scene, { behaviour, spec: { timeouts: shortTimeouts } }, streams);
    },
  };
}

const raw = (head: string, body = ''): Behaviour => ({
  kind: 'raw',
  bytes: `HTTP/1.1 ${head}\r\n\r\n${body}`,
});
const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'w' }, finish_reason: null }] })}\n\n`;
const chunk = `${event.length.toString(16)}\r\n${event}\r\n`;
/** A chunked stream with two pieces of text, which goes on. */
const twoPieces = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunk}${chunk}`;
const refusal = {
  error: { message: 'Incorrect API key provided: sk-upstream-secret', type: 'invalid_request_error' },
};

export const upstreamFaults: readonly Fault[] = [
  nextAnswers('garbage', 'bytes that are no HTTP', { kind: 'raw', bytes: '\x00\x01\x02garbage\r\n\r\n' }),
  nextAnswers('endless-headers', 'headers without end are cut off at a bound', { kind: 'endlessHeaders' }),
  nextAnswers(
    'two-lengths',
    'an answer framed in two ways at once',
    raw('200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'),
  ),
  nextAnswers(
    'folded-header',
    'a head with a folded line',
    raw('200 OK\r\nx-a: 1\r\n b: 2\r\ncontent-length: 2', '{}'),
  ),
  nextAnswers(
    'other-protocol',
    'an answer that switches protocols unasked',
    raw('101 Switching Protocols\r\nupgrade: x'),
  ),
  nextAnswers('html-500', 'an error page of a proxy in front of the node', {
    kind: 'answer',
    status: 502,
    headers: htmlHeaders,
    body: html,
  }),
  nextAnswers(
    'html-for-a-stream',
    'an HTML page with status 200 for a stream',
    { kind: 'answer', headers: htmlHeaders, body: html },
    [true],
  ),
  nextAnswers(
    'empty-stream',
    'a stream that ends before any event',
    { kind: 'answer', headers: { 'content-type': 'text/event-stream' }, body: '' },
    [true],
  ),
  nextAnswers(
    'error-first',
    'a stream whose first event is an error',
    { kind: 'errorInStream', chunks: 0, error: { message: 'overloaded', type: 'server_error', code: 503 } },
    [true],
  ),
  nextAnswers('redirect', 'a redirect, which is never followed', {
    kind: 'redirect',
    location: 'http://169.254.169.254/latest/meta-data',
  }),
  nextAnswers('endless-error', 'an error whose body has no end', {
    kind: 'run',
    async run({ response, signal }) {
      response.writeHead(500, { 'content-type': 'application/json' });
      while (!signal.aborted) {
        response.write('x'.repeat(65_536));
        await delay(2);
      }
    },
  }),
  nextAnswers(
    'rate-limited',
    'HTTP 429 with Retry-After, which opens the circuit at once',
    { kind: 'answer', status: 429, headers: { 'retry-after': '60' }, body: {} },
    [false],
  ),
  nextAnswers('early-refusal', 'an answer of 503 while the request is still being sent', {
    kind: 'beforeBody',
    next: { kind: 'answer', status: 503, body: {} },
  }),
  {
    id: 'upstream-credential-refused',
    group: 'upstream',
    section: 'Failover',
    promise:
      'a node that refuses the gateway’s credential is no 401 for the caller, who is told nothing of the credential',
    form: 'short',
    run: (scene) =>
      toldAsError(scene, { behaviour: { kind: 'answer', status: 401, body: refusal } }, 502, /credential/),
  },
  {
    id: 'upstream-html-400',
    group: 'upstream',
    section: 'Failover',
    promise: 'an error page for a request that the node refuses is told as an error in the caller’s shape',
    form: 'short',
    run: (scene) =>
      toldAsError(
        scene,
        { behaviour: { kind: 'answer', status: 400, headers: htmlHeaders, body: html } },
        400,
        /400|refused|answered/i,
      ),
  },
  {
    id: 'upstream-early-close',
    group: 'upstream',
    section: 'Streaming',
    promise: 'a chunked answer that closes in the middle of a chunk is told in the stream',
    form: 'short',
    run: (scene) => toldInStream(scene, { kind: 'raw', bytes: `${twoPieces}ff\r\ndata: {"half` }),
  },
  {
    id: 'upstream-bad-chunk',
    group: 'upstream',
    section: 'Streaming',
    promise: 'a stream whose framing turns to garbage ends with an error in it',
    form: 'short',
    run: (scene) => toldInStream(scene, { kind: 'raw', bytes: `${twoPieces}zz\r\ngarbage`, open: true }),
  },
  {
    id: 'upstream-endless-body',
    group: 'upstream',
    section: 'Streaming',
    promise:
      'an answer without end is passed on with bounded memory, and stopped as soon as the caller leaves',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const { chat, upstreams } = await served.declare([{ behaviour: { kind: 'endlessBody' } }]);
      const before = await served.metric('process_resident_memory_bytes');
      const leave = new AbortController();
      const answer = chat(false, { signal: leave.signal });
      await upstreams[0]?.waitFor(([request]) => (request?.sentBytes() ?? 0) > 20_000_000, 20_000);
      const grown = ((await served.metric('process_resident_memory_bytes')) - before) / 2 ** 20;
      leave.abort();
      await answer;
      await scene.recovers(
        'the node is told that the caller left',
        () => upstreams[0]?.requests[0]?.clientGoneTime !== undefined,
        5_000,
      );
      scene.must(`memory grew by ${Math.round(grown)} MiB, not 100`, grown < 100);
      scene.saw(`${Math.round(grown)} MiB more memory after 20 MB`);
    },
  },
  {
    id: 'upstream-two-answers',
    group: 'upstream',
    section: 'Failover',
    promise: 'an answer that nobody asked for is never given to the next request on the connection',
    form: 'short',
    async run(scene) {
      const { chat, upstreams } = await (await scene.shared()).declare([{}]);
      const good = '{"choices":[{"message":{"content":"first"}}]}';
      const evil = '{"choices":[{"message":{"content":"for somebody else"}}]}';
      const one = (body: string) =>
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      upstreams[0]?.respondWith('/chat/completions', [
        { kind: 'raw', bytes: one(good) + one(evil), open: true },
      ]);
      scene.same('the first answer', (await chat()).text, good);
      for (let round = 0; round < 3; round += 1) {
        scene.same('a later answer', chatText((await chat()).text, false), wellText);
      }
      scene.saw('the second answer was thrown away with its connection');
    },
  },
  {
    id: 'upstream-invalid-utf-8',
    group: 'upstream',
    section: 'Streaming',
    promise: 'bytes that are no UTF-8 pass through a stream as they came, and what follows them too',
    form: 'short',
    async run(scene) {
      const bytes = Buffer.concat([
        Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"'),
        Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80]),
        Buffer.from('"}}]}\n\ndata: [DONE]\n\n'),
      ]);
      const served = await scene.shared();
      const behaviour = {
        kind: 'answer',
        headers: { 'content-type': 'text/event-stream' },
        body: bytes,
      } as const;
      const { model } = await served.declare([{ behaviour }]);
      const response = await fetch(`${served.process.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${served.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, stream: true, messages: [] }),
        signal: AbortSignal.timeout(30_000),
      });
      scene.must('the bytes are the same', Buffer.from(await response.arrayBuffer()).equals(bytes));
      scene.saw('the same bytes');
    },
  },
  {
    id: 'upstream-wrong-type',
    group: 'upstream',
    section: 'Streaming',
    promise: 'a stream that is labelled as JSON is followed as a stream all the same',
    form: 'short',
    async run(scene) {
      const { chat, upstreams } = await (await scene.shared()).declare([{}]);
      if (upstreams[0] !== undefined) upstreams[0].answers.headers = { 'content-type': 'application/json' };
      const { status, text } = await chat(true);
      scene.same('answer', [status, chatText(text, true)], [200, wellText]);
      scene.saw('the whole stream');
    },
  },
];
