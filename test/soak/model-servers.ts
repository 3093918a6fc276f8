import { hash } from 'node:crypto';
import type { ScriptedUpstream } from '../support/upstream.ts';
import { startUpstream } from '../support/upstream.ts';
import { type Behaviour, play } from '../support/upstream-behaviours.ts';
import type { Exchange } from '../support/upstream-exchange.ts';
import { jsonBody, modelOf } from '../support/upstream-request-body.ts';
import { chunksOf, markOf, numberIn } from './echo.ts';

/** What the model servers of a soak have seen. */
interface Seen {
  requests: number;
  /** Requests that are being answered now. */
  open: number;
  /** Answers whose caller left before their end. */
  abandoned: number;
  /** Faults that were played on purpose. */
  faults: number;
}

export interface ModelServers extends AsyncDisposable {
  /** Answer well; the first two speak chat alone, the third every format. */
  readonly steady: readonly [ScriptedUpstream, ScriptedUpstream, ScriptedUpstream];
  /** Fail three times out of four, each time in another way. */
  readonly faulty: readonly [ScriptedUpstream, ScriptedUpstream];
  readonly seen: Readonly<Seen>;
}

/** The credential of every server; a request without it gets 401. */
export const serverCredential = 'credential-of-the-model-servers';

/** `random` in [0, 1) chooses the faults. */
export async function startModelServers(random: () => number): Promise<ModelServers> {
  const seen: Seen = { requests: 0, open: 0, abandoned: 0, faults: 0 };
  const start = async (fault: () => Behaviour | undefined) => {
    const server = await startUpstream({ apiKey: serverCredential, models: ['chat'], keepRequests: false });
    const run = async (exchange: Exchange) => {
      seen.requests += 1;
      seen.open += 1;
      exchange.response.once('close', () => {
        seen.open -= 1;
        if (exchange.request.clientGoneTime !== undefined) seen.abandoned += 1;
      });
      const chosen = exchange.request.method === 'POST' ? (fault() ?? byModel(exchange)) : undefined;
      if (chosen !== undefined) seen.faults += 1;
      await play(chosen ?? { kind: 'well' }, echoing(exchange));
    };
    server.respondWith('*', () => ({ kind: 'run', run }));
    return server;
  };
  const well = () => undefined;
  const steady = [await start(well), await start(well), await start(well)] as const;
  const badly = () => faults[Math.floor(random() * faults.length * 1.33)];
  const faulty = [await start(badly), await start(badly)] as const;
  return {
    ...{ steady, faulty, seen },
    async [Symbol.asyncDispose]() {
      await Promise.all([...steady, ...faulty].map((server) => server.stop()));
    },
  };
}

const failing = (status: number, headers?: Record<string, string>): Behaviour => ({
  kind: 'answer',
  status,
  body: { error: { message: 'injected', type: 'server_error' } },
  ...(headers === undefined ? {} : { headers }),
});

/** All come before the first content, so that another node can answer. */
const faults: readonly Behaviour[] = [
  ...[failing(500), failing(502), failing(503), failing(429, { 'retry-after': '1' })],
  { kind: 'resetBeforeHead' },
  { kind: 'closeBeforeHead' },
  { kind: 'answer', status: 500, headers: { 'content-type': 'text/html' }, body: '<h1>no</h1>' },
  { kind: 'raw', bytes: 'HTTP/1.1 200 OK\r\ncontent-length: nonsense\r\n\r\n' },
  { kind: 'beforeBody', next: failing(503) },
  { kind: 'hang' },
];

/** Models that fail wherever they are served. */
const byName: readonly (readonly [model: string, behaviour: Behaviour])[] = [
  ['"cut"', { kind: 'resetMidStream', chunks: 3 }],
  ['"broken"', failing(500)],
  [
    '"refused"',
    { kind: 'answer', status: 400, body: { error: { message: 'injected', type: 'invalid_request_error' } } },
  ],
];

function byModel({ request: { body } }: Exchange): Behaviour | undefined {
  return byName.find(([model]) => body.includes(model))?.[1];
}

/** The exchange with the answer that belongs to this request. */
function echoing(exchange: Exchange): Exchange {
  const number = numberIn(exchange.request.body);
  if (number === undefined) return exchange;
  const body = jsonBody(exchange.request) ?? {};
  const slow = modelOf(body) === 'slow';
  const digest = modelOf(body) === 'big' ? `${digestOf(body)} ` : '';
  const answers = {
    ...exchange.answers,
    prefix: markOf(number) + digest,
    chunks: slow ? 2_000 : chunksOf(number),
    chunkDelayMilliseconds: slow ? 20 : number % 5 === 0 ? 3 : 0,
    toolArguments: JSON.stringify({ number, filling: 'x'.repeat((number % 50) * 100) }),
  };
  return { ...exchange, answers };
}

/** Of the text of the last message, which every conversion keeps. */
function digestOf(body: Readonly<Record<string, unknown>>): string {
  const messages = Array.isArray(body['messages']) ? (body['messages'] as { content?: unknown }[]) : [];
  const content = messages.at(-1)?.content;
  const parts = Array.isArray(content) ? (content as { text?: string }[]) : [{ text: String(content) }];
  return hash('sha1', parts.map(({ text }) => text ?? '').join(''), 'hex');
}
