import { connect } from 'node:net';
import fc from 'fast-check';
import { processorSeconds } from '../bench/processor-time.ts';
import { arrivalDelay } from '../bench/statistics.ts';
import { newKey } from '../soak/declared.ts';
import type { Ground } from '../soak/ground.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';
import type { Finding, FuzzOptions, FuzzReport } from './fuzz-report.ts';
import { failuresOf } from './fuzz-report.ts';
import { type HonestCaller, startHonestCaller } from './honest-caller.ts';
import { keyMark, type MalformedRequest, malformedRequest } from './malformed-requests.ts';
import { statusesOf } from './statuses.ts';

/** Connections that are being fuzzed at one time. */
const lanes = 8;
/** A request that is not whole has no answer; the caller leaves after this silence. */
const silenceMs = 60;

/**
 * Sends malformed requests to a gateway on a `ground` without resources, while an honest caller asks. Fails when the
 * gateway answers with an error of its own (5xx), ends, logs an error, or harms the honest caller.
 */
export async function fuzzHttp(ground: Ground, options: FuzzOptions): Promise<FuzzReport> {
  await using upstream = await answeringUpstream();
  const { text: key, declared } = newKey('fuzz');
  const holds = {
    baseURL: upstream.url,
    manualModels: ['m'],
    healthCheck: { mode: 'None' },
    sync: { discovery: 'Never' },
  };
  await ground.declare('fuzz', [declared, { kind: 'UpstreamNode', name: 'fuzz', holds }]);
  await using honest = await startHonestCaller(ground.port, key);

  await honest.during(options.compareMs);
  const quiet = await honest.during(options.compareMs);
  // The same work for the machine with requests that are right: what is more than that is the malformed ones' doing.
  const ordinary = await withOrdinary(ground, key, honest, options.compareMs);
  const heapBefore = await ground.probe.ask('heap');
  await ground.probe.ask('stalls');

  const answered: Record<string, number> = {};
  let sent = 0;
  const before = processorSeconds(ground.pid);
  const judge = async (request: MalformedRequest): Promise<void> => {
    sent += 1;
    const reply = await exchange(ground.port, request, key);
    ground.alive();
    const statuses = statusesOf(reply);
    for (const status of statuses.length === 0 ? ['none'] : statuses) {
      answered[status] = (answered[status] ?? 0) + 1;
    }
    const own = statuses.find((status) => status >= 500);
    if (own !== undefined) throw new Error(`HTTP ${own}: ${reply.slice(0, 600)}`);
  };
  const findings: Finding[] = [];
  const fuzzing = Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const numRuns = Math.ceil(options.runs / lanes);
      const property = fc.asyncProperty(malformedRequest, judge);
      const parameters = { numRuns, seed: options.seed + lane, interruptAfterTimeLimit: options.limitMs };
      findings.push(...failuresOf('http', await fc.check(property, parameters)));
    }),
  );
  await honest.during(0);
  await fuzzing;
  const malformed = await honest.during(0);
  const used = processorSeconds(ground.pid) - before;
  const { stalls, milliseconds } = await ground.probe.ask('stalls');
  const heap = await ground.probe.ask('heap');
  for (const line of ground.log()) {
    if (line['level'] === 'error')
      findings.push({ target: 'http', case: '', reason: `logged: ${JSON.stringify(line)}` });
  }
  for (const wrong of [...quiet.wrong, ...ordinary.wrong, ...malformed.wrong]) {
    findings.push({ target: 'http', case: '', reason: `the honest caller: ${wrong}` });
  }
  const grown = heap.heapUsed + heap.external - heapBefore.heapUsed - heapBefore.external;
  if (grown > 48 * 1024 * 1024)
    findings.push({ target: 'http', case: '', reason: `memory grew by ${grown} bytes` });
  return {
    target: 'http',
    runs: sent,
    findings,
    figures: {
      answered,
      honestMs: { quiet: quiet.medianMs, ordinary: ordinary.medianMs, malformed: malformed.medianMs },
      slowDown: malformed.medianMs / ordinary.medianMs,
      honestAnswers: malformed.count,
      processorMs: { malformed: (used * 1000) / sent, ordinary: ordinary.processorMs },
      loopDelayMs: { p99: arrivalDelay(stalls, milliseconds, 0.99), longest: Math.max(0, ...stalls) },
      grownBytes: grown,
    },
  };
}

/** Good requests on as many connections, each in a connection of its own. */
async function withOrdinary(ground: Ground, key: string, honest: HonestCaller, ms: number) {
  const body = '{"model":"m","messages":[{"role":"user","content":"Hello"}]}';
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${keyMark}\r\nconnection: close\r\n`;
  const bytes = Buffer.from(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  const end = performance.now() + ms;
  const before = processorSeconds(ground.pid);
  let sent = 0;
  await honest.during(0);
  const one = async () => {
    while (performance.now() < end) {
      sent += 1;
      await exchange(ground.port, { kind: 'good', bytes, pieces: 1, leave: 'wait' }, key);
    }
  };
  await Promise.all(Array.from({ length: lanes }, one));
  const processorMs = ((processorSeconds(ground.pid) - before) * 1000) / sent;
  return { ...(await honest.during(0)), processorMs };
}

/** Writes to a connection of its own and answers what came back, as latin1 text. */
async function exchange(port: number, request: MalformedRequest, key: string): Promise<string> {
  const { pieces, leave } = request;
  const bytes = Buffer.from(request.bytes.toString('latin1').replaceAll(keyMark, key), 'latin1');
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => undefined);
  // Not `once` of node:events, which rejects when there is an error: the gateway may close while this still writes.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let received = '';
  socket.on('data', (piece: Buffer) => {
    received += piece.toString('latin1');
    // What has been answered in full keeps the connection open for more; nobody sends more.
    if (leave === 'wait') socket.setTimeout(answeredInFull(received) ? 3 : silenceMs);
  });
  socket.setTimeout(silenceMs, () => socket.destroy());
  const size = Math.max(1, Math.ceil(bytes.length / pieces));
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    socket.write(bytes.subarray(at, at + size));
    if (pieces > 1) await new Promise(setImmediate);
  }
  if (leave === 'end') socket.end();
  if (leave === 'destroy') setImmediate(() => socket.destroy());
  await closed;
  return received;
}

function answeredInFull(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, Math.max(0, head)))?.[1];
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= head + 4 + Number(length);
}

/** Answers every request well, whatever it holds: an error is never its doing. */
async function answeringUpstream() {
  const upstream = await startUpstream({ keepRequests: false });
  const answer: Behaviour = {
    kind: 'run',
    run: ({ request, response }) => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
      const streams = /"stream"\s*:\s*true/.test(request.body.toString('latin1'));
      if (request.path.endsWith('/embeddings')) {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
      } else if (streams) {
        const delta = [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }];
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`data: ${JSON.stringify({ choices: delta })}\n\ndata: [DONE]\n\n`);
      } else {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices }));
      }
    },
  };
  upstream.respondWith('*', () => answer);
  return { url: upstream.url, [Symbol.asyncDispose]: upstream.stop };
}
