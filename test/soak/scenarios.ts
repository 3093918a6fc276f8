import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Asking, Reply } from './ask.ts';
import { markOf, saidTo } from './echo.ts';
import { asking, paths, type SoakFormat, saidPlain, saidStreamed } from './formats.ts';

/** What a scenario works with. */
export interface Play extends Asking {
  /** No two plays have the same. */
  readonly number: number;
  readonly api: string;
  readonly master: string;
  /** In [0, 1). */
  readonly random: () => number;
}

/** One kind of load. It throws when an answer is not the right one. */
export interface Scenario {
  readonly name: string;
  /** How often it is played, compared with the others. */
  readonly weight: number;
  run(play: Play): Promise<void>;
}

const everyFormat: readonly SoakFormat[] = ['chat', 'completions', 'messages', 'responses'];

const model = (name: string, stream: boolean, weight: number, formats = everyFormat): Scenario[] =>
  formats.map((format) => ({
    name: `${name} ${format}${stream ? ' streamed' : ''}`,
    weight,
    run: (play) => askModel(play, format, name, stream),
  }));

const withTools = (['chat', 'messages', 'responses'] as const).map(
  (format): Scenario => ({
    name: `tools ${format} streamed`,
    weight: 2,
    run: (play) => askModel(play, format, 'chat', true, 'lookup'),
  }),
);

export const scenarios: readonly Scenario[] = [
  ...model('chat', false, 5),
  ...model('chat', true, 4),
  ...model('chat-alias', false, 1),
  ...model('native', false, 2),
  ...model('native', true, 2),
  ...model('native-alias', true, 1),
  ...model('far-1', false, 1),
  ...model('far-1', true, 1),
  ...model('far-2', false, 1),
  ...model('far-2', true, 1),
  ...withTools,
  { name: 'cancelled streams', weight: 4, run: (play) => leave(play, true) },
  { name: 'cancelled plain', weight: 2, run: (play) => leave(play, false) },
  { name: 'slow reader', weight: 1, run: readSlowly },
  { name: 'big bodies', weight: 1, run: sendMuch },
  { name: 'injected: all nodes fail', weight: 1, run: (play) => injected(play, 'broken', [500, 529, 502]) },
  { name: 'injected: node refuses', weight: 1, run: (play) => injected(play, 'refused', [400]) },
  { name: 'injected: cut mid-stream', weight: 2, run: cutMidStream },
  { name: 'embeddings', weight: 1, run: embed },
  { name: 'count tokens', weight: 1, run: countTokens },
  { name: 'models', weight: 1, run: listModels },
  { name: 'keys', weight: 3, run: makeAndRevoke },
  { name: 'bad requests', weight: 3, run: askBadly },
];

async function askModel(
  { ask, api, number }: Play,
  format: SoakFormat,
  name: string,
  stream: boolean,
  tool?: string,
): Promise<void> {
  const text = `Hello, ${markOf(number)}`;
  const reply = await ask({
    path: paths[format],
    key: api,
    body: JSON.stringify(asking(format, name, text, stream, tool)),
  });
  expectStatus(reply, [200]);
  const said = stream ? saidStreamed(format, reply.text) : saidPlain(format, reply.text);
  const converted = 'x-model-gateway-conversion' in reply.headers;
  const wantsConversion = format !== 'chat' && !name.startsWith('native');
  if (converted !== wantsConversion) throw new Error(`converted: ${converted}`);
  // A reply that was passed through keeps the name that the node wrote.
  const wanted = converted ? name : name.replace('-alias', '');
  if (said.model !== wanted) throw new Error(`the answer's model is ${said.model}, not ${wanted}`);
  if (tool !== undefined) {
    const { number: answered } = JSON.parse(said.toolArguments) as { number: unknown };
    if (answered !== number) throw new Error(`the tool call is that of ${answered}, not ${number}`);
  } else if (said.text !== saidTo(number)) {
    throw new Error(`the answer is not ours (${number}): ${said.text.slice(0, 200)}`);
  }
}

async function leave({ ask, api, number, random }: Play, stream: boolean): Promise<void> {
  const format = everyFormat[number % everyFormat.length] ?? 'chat';
  let pieces = 0;
  const most = 1 + Math.floor(random() * 20);
  const reply = await ask({
    path: paths[format],
    key: api,
    // A plain answer of this model is converted or not, but comes soon: leave before it.
    body: JSON.stringify(asking(format, 'slow', markOf(number), stream)),
    onPiece: () => ++pieces < most,
    leaveAfterMs: random() * 1_500,
  });
  if (reply.end === 'left') return;
  expectStatus(reply, [200]);
}

async function readSlowly({ ask, api, number }: Play): Promise<void> {
  const reply = await ask({
    path: paths.messages,
    key: api,
    body: JSON.stringify(asking('messages', 'chat', markOf(number), true)),
    onPiece(_piece, sent) {
      sent.socket?.pause();
      setTimeout(() => sent.socket?.resume(), 40);
      return true;
    },
  });
  expectStatus(reply, [200]);
  if (saidStreamed('messages', reply.text).text !== saidTo(number)) throw new Error('the answer is not ours');
}

/** 50 KB to 4 MB, every third compressed, every fourth converted; the answer tells what the node got. */
async function sendMuch({ ask, api, number, random }: Play): Promise<void> {
  const converted = number % 4 === 0;
  const bytes = Math.floor(50_000 + random() ** 4 * (converted ? 900_000 : 4_000_000));
  const text = `${markOf(number)}${'Naïve "text" with\nlines — '.repeat(Math.ceil(bytes / 28))}`;
  const format = converted ? 'messages' : 'chat';
  const body = Buffer.from(JSON.stringify(asking(format, 'big', text, false)));
  const packed = number % 3 === 0;
  const reply = await ask({
    path: paths[format],
    key: api,
    body: packed ? gzipSync(body, { level: 1 }) : body,
    headers: packed ? { 'content-encoding': 'gzip' } : {},
  });
  expectStatus(reply, [200]);
  const said = saidPlain(format, reply.text).text;
  if (!said.startsWith(`${markOf(number)}${hash('sha1', text, 'hex')} w0`)) {
    throw new Error(`the node got another text: ${said.slice(0, 100)}`);
  }
}

async function injected(
  { ask, api, number }: Play,
  name: string,
  statuses: readonly number[],
): Promise<void> {
  const format = everyFormat[number % everyFormat.length] ?? 'chat';
  const body = JSON.stringify(asking(format, name, markOf(number), number % 3 === 0));
  const reply = await ask({ path: paths[format], key: api, body });
  expectStatus(reply, statuses);
  if (!('error' in (JSON.parse(reply.text) as object))) throw new Error(`no error: ${reply.text}`);
}

/** What only a whole answer has. */
const endOf: Readonly<Record<SoakFormat, RegExp>> = {
  chat: /\[DONE\]/,
  completions: /\[DONE\]/,
  messages: /message_stop/,
  responses: /"response\.completed"/,
};

async function cutMidStream({ ask, api, number }: Play): Promise<void> {
  const format = everyFormat[number % everyFormat.length] ?? 'chat';
  const body = JSON.stringify(asking(format, 'cut', markOf(number), true));
  const reply = await ask({ path: paths[format], key: api, body });
  expectStatus(reply, [200]);
  const ended = endOf[format].test(reply.text);
  if (ended || !reply.text.includes('"error"'))
    throw new Error(`not told as an error: ${reply.text.slice(-300)}`);
}

async function embed({ ask, api }: Play): Promise<void> {
  const body = JSON.stringify({ model: 'chat', input: ['a', 'b'] });
  const reply = await ask({ path: '/v1/embeddings', key: api, body });
  expectStatus(reply, [200]);
  const { data } = JSON.parse(reply.text) as { data: unknown[] };
  if (data.length !== 2) throw new Error(`not two embeddings: ${reply.text}`);
}

async function countTokens({ ask, api, number }: Play): Promise<void> {
  const name = number % 2 === 0 ? 'native' : 'chat';
  const body = JSON.stringify({ model: name, messages: [{ role: 'user', content: 'How many?' }] });
  const reply = await ask({ path: '/v1/messages/count_tokens', key: api, body });
  expectStatus(reply, [200]);
  const { input_tokens: tokens } = JSON.parse(reply.text) as { input_tokens: number };
  if (name === 'native' ? tokens !== 7 : !(tokens > 0)) throw new Error(`tokens: ${tokens}`);
}

async function listModels({ ask, api }: Play): Promise<void> {
  const reply = await ask({ path: '/v1/models', key: api });
  expectStatus(reply, [200]);
  const names = (JSON.parse(reply.text) as { data: { id: string }[] }).data.map(({ id }) => id);
  for (const name of ['chat', 'chat-alias', 'native', 'far-2']) {
    if (!names.includes(name)) throw new Error(`${name} is not listed: ${names.join(', ')}`);
  }
}

async function makeAndRevoke(play: Play): Promise<void> {
  const { ask, master, number } = play;
  const body = JSON.stringify({ name: `soak ${number}`, models: ['chat'] });
  const made = await ask({ path: '/v1/keys', key: master, body });
  expectStatus(made, [201]);
  const { id, value } = JSON.parse(made.text) as { id: string; value: string };
  await askModel({ ...play, api: value }, 'chat', 'chat', number % 2 === 0);
  const other = JSON.stringify(asking('chat', 'native', markOf(number), false));
  expectStatus(await ask({ path: paths.chat, key: value, body: other }), [403]);
  expectStatus(await ask({ path: `/v1/keys/${id}`, key: master }), [200]);
  expectStatus(await ask({ method: 'DELETE', path: `/v1/keys/${id}`, key: master }), [200]);
  expectStatus(await ask({ path: paths.chat, key: value, body: other }), [401]);
}

const badRequests: readonly (readonly [path: string, body: string, status: number, key?: string])[] = [
  ['/v1/chat/completions', '{"model":"chat",', 400],
  ['/v1/chat/completions', '{"model":"nobody"}', 404],
  ['/v1/messages', '{"model":"chat"}', 400],
  ['/v1/responses', '{"model":"chat","input":"x","previous_response_id":"resp_1"}', 400],
  ['/v1/nowhere', '{}', 404],
  ['/v1/keys', '{}', 403],
  ['/v1/chat/completions', '{"model":"chat"}', 401, 'wrong'],
];

async function askBadly({ ask, api, number }: Play): Promise<void> {
  const [path, body, status, key = api] = badRequests[number % badRequests.length] ?? ['/', '', 404];
  expectStatus(await ask({ path, body, key }), [status]);
}

function expectStatus({ status, end, text }: Reply, wanted: readonly number[]): void {
  if (end === 'whole' && wanted.includes(status)) return;
  throw new Error(`HTTP ${status}, ${end}, not ${wanted.join(' or ')}: ${text.slice(0, 300)}`);
}
