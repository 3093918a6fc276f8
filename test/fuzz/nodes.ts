import fc from 'fast-check';
import { askingOf } from '../soak/ask.ts';
import { newKey } from '../soak/declared.ts';
import { asking, paths, type SoakFormat } from '../soak/formats.ts';
import type { Ground } from '../soak/ground.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';
import { type Finding, type FuzzOptions, type FuzzReport, failuresOf } from './fuzz-report.ts';
import { anyAnswer, anyStream } from './parsers.ts';

const lanes = 6;

/** How a node answers one request: events or JSON, well framed or not. */
const nodeAnswer: fc.Arbitrary<{ status: number; head: string; pieces: readonly Buffer[]; cut: boolean }> =
  fc.record({
    status: fc.constantFrom(200, 200, 200, 200, 200, 204, 206, 301, 400, 404, 413, 422, 499, 999),
    head: fc.constantFrom(
      ...['content-type: text/event-stream', 'content-type: application/json', 'content-type: text/html', ''],
      ...[
        'content-encoding: gzip',
        'content-length: 10',
        'content-length: 1, 2',
        'transfer-encoding: chunked',
      ],
      ...[
        'retry-after: x',
        'connection: close, x',
        'x: \u00ff',
        'x : y',
        'content-type: application/json\r\n folded',
      ],
    ),
    pieces: fc.oneof(
      anyStream,
      anyAnswer.map((bytes) => [bytes]),
    ),
    cut: fc.boolean(),
  });

/**
 * Lets a node answer in every wrong way, and asks for it in every format. Fails when the gateway calls it its own error,
 * never answers, or logs an error; what it makes of the answer is judged in the parsers' target.
 */
export async function fuzzNodes(ground: Ground, options: FuzzOptions): Promise<FuzzReport> {
  const upstream = await startUpstream({ keepRequests: false });
  const scripts = new Map<string, Behaviour>();
  upstream.respondWith('*', () => ({
    kind: 'run',
    run: async (exchange) => {
      const lane = /lane-(\d+)/.exec(exchange.request.body.toString('latin1'))?.[1] ?? '';
      const behaviour = scripts.get(lane);
      if (behaviour?.kind === 'raw') {
        exchange.socket.write(behaviour.bytes);
        exchange.close();
      }
    },
  }));
  const { text: key, declared } = newKey('fuzz');
  const node = (name: string, nativeFormats: readonly string[]) => ({
    ...{ kind: 'UpstreamNode' as const, name },
    holds: {
      ...{ baseURL: upstream.url, manualModels: [name], nativeFormats, sync: { discovery: 'Never' } },
      ...{ healthCheck: { mode: 'None' }, timeouts: { firstByteSeconds: 5, idleSeconds: 5 } },
    },
  });
  await ground.declare('fuzz', [
    declared,
    node('chat', []),
    node('native', ['Responses', 'Messages', 'Completions']),
  ]);
  const { ask, close } = askingOf(ground.port);
  for (let tries = 0; tries < 100; tries++) {
    if ((await ask({ path: '/v1/models', key })).text.includes('native')) break;
    await new Promise((done) => setTimeout(done, 50));
  }
  const statuses: Record<string, number> = {};
  let sent = 0;
  const findings: Finding[] = [];
  const request = fc.record({
    answer: nodeAnswer,
    format: fc.constantFrom<SoakFormat>('chat', 'completions', 'messages', 'responses'),
    model: fc.constantFrom('chat', 'native'),
    stream: fc.boolean(),
  });
  try {
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const property = fc.asyncProperty(request, async ({ answer, format, model, stream }) => {
          sent += 1;
          const lines = [`HTTP/1.1 ${answer.status} X`, ...(answer.head === '' ? [] : [answer.head]), '', ''];
          const bytes = Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), ...answer.pieces]);
          scripts.set(String(lane), { kind: 'raw', bytes: answer.cut ? bytes.subarray(0, -5) : bytes });
          const body = JSON.stringify(asking(format, model, `lane-${lane}`, stream));
          const reply = await ask({ path: paths[format], key, body });
          ground.alive();
          statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
          if (reply.text.includes('internal_error') || reply.text.includes('its log says why')) {
            throw new Error(`its own error: ${reply.text.slice(0, 500)}`);
          }
        });
        const numRuns = Math.ceil(options.runs / 10 / lanes);
        const parameters = { numRuns, seed: options.seed + lane, interruptAfterTimeLimit: options.limitMs };
        findings.push(...failuresOf('nodes', await fc.check(property, parameters)));
      }),
    );
    for (const line of ground.log()) {
      if (line['level'] === 'error')
        findings.push({ target: 'nodes', case: '', reason: `logged: ${JSON.stringify(line)}` });
    }
  } finally {
    close();
    await upstream.stop();
  }
  return { target: 'nodes', runs: sent, findings, figures: { statuses } };
}
