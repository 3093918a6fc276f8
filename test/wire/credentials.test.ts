import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealApiKey } from '../../src/resources/sealed-key.ts';
import { eventually } from '../support/eventually.ts';
import { keptSecret } from '../support/kept-secret.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

/** What is planted, by the place it is planted in. Each is found again by its text, in clear or as base64. */
const planted = {
  secretKey: 'sk-planted-in-a-secret-0123456789',
  sealedKey: 'sk-planted-in-sealed-text-0123456789',
  secretHeader: 'planted-in-a-header-secret-0123456789',
  plainHeader: 'planted-in-a-header-value-0123456789',
  wrongPlace: 'sk-planted-in-a-field-that-does-not-exist',
  wrongCaller: 'sk-planted-by-a-caller-whom-nobody-knows',
};
const apiKey = keyWithHash();
const xApiKey = keyWithHash();
const master = keyWithHash('master');
const mistyped = `${keyWithHash().text.slice(0, -1)}_`;

interface Round {
  readonly standalone: Standalone;
  readonly upstream: ScriptedUpstream;
  /** Everything that must appear nowhere: what was planted and what the product generated. */
  readonly secrets: Map<string, string>;
  /** Everything that callers were answered, except the one answer that is theirs to see. */
  readonly answers: string[];
  metrics: string;
  /** What was exported by OTLP: spans and metrics. */
  telemetry: string;
  commandLine: string;
}

/** What the upstream echoes: the credential that it was sent, wherever it was sent. */
const echo = (headers: Readonly<Record<string, unknown>>) =>
  `you sent ${headers['authorization']} ${headers['x-secret']} ${headers['x-plain']}`;

async function play(format: 'json' | 'text'): Promise<Round> {
  const upstream = await startUpstream({ models: ['m', 's'] });
  const receiver = await startOtlpReceiver();
  const secret = (name: string, stringData: Record<string, string>) =>
    `${JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData })}\n`;
  const node = manifest('UpstreamNode', 'by-secret', {
    baseURL: upstream.url,
    apiKeySecretRef: { name: 'node' },
    headers: [
      { name: 'x-secret', secretRef: { name: 'node', key: 'header' } },
      { name: 'x-plain', value: planted.plainHeader },
    ],
    manualModels: ['m'],
  });
  const standalone = await startStandalone({
    logLevel: 'debug',
    flags: ['--log-format', format],
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '300',
    },
    manifests: {
      'node.yaml': manifests(
        node,
        secret('node', { apiKey: planted.secretKey, header: planted.secretHeader }),
      ),
      'keys.yaml': manifests(
        manifest('APIKey', 'k', { hash: apiKey.hash }),
        manifest('APIKey', 'x', { hash: xApiKey.hash }),
        manifest('APIKey', 'generated', { secretName: 'generated' }),
        manifest('MasterKey', 'mk', { hash: master.hash }),
      ),
      'wrong.yaml': manifest('UpstreamNode', 'wrong', { baseURL: upstream.url, apiKey: planted.wrongPlace }),
      'user-info.yaml': manifest('UpstreamNode', 'user-info', {
        baseURL: `http://u:${planted.wrongPlace}@h/v1`,
      }),
      'broken.yaml': `apiKey: "${planted.wrongPlace}\n`,
    },
  });
  const { data } = standalone.folders;
  const secrets = new Map<string, string>(Object.entries({ ...planted, mistyped }));
  for (const [name, { text }] of Object.entries({ apiKey, xApiKey, master })) secrets.set(name, text);

  // A credential that is sealed to this gateway.
  let recipient = '';
  await standalone.until('the recipient is published', async () => {
    recipient = await readFile(join(data, 'sealing-recipient.txt'), 'utf8').catch(() => '');
    return recipient !== '';
  });
  const place = { namespace: 'default', name: 'by-seal', baseURL: upstream.url };
  const encryptedAPIKey = await sealApiKey({
    ...place,
    recipient: recipient.trim(),
    apiKey: planted.sealedKey,
  });
  await standalone.folders.write(
    'sealed.yaml',
    manifest('UpstreamNode', 'by-seal', { baseURL: upstream.url, encryptedAPIKey, manualModels: ['s'] }),
  );
  const answers: string[] = [];
  const send = async (key: string, method: string, path: string, body?: unknown) => {
    const { status, headers, text } = await standalone.caller(key).send(method, path, body);
    answers.push(`${status} ${JSON.stringify([...headers])} ${text}`);
    return { status, headers, text };
  };
  const chat = (model: string, stream = false) =>
    send(apiKey.text, 'POST', '/chat/completions', { model, stream, messages: [] });
  await eventually('the sealed key opens', async () => (await chat('s')).status === 200, 5000, 20);

  // The product's own secrets, as its data folder keeps them.
  const stored = async (name: string) => {
    await standalone.until(`${name} is there`, async () => keptSecret(data, name) !== undefined);
    return Object.entries(keptSecret(data, name) ?? {});
  };
  for (const [, text] of await stored('model-gateway-sealing')) {
    const identity = /AGE-SECRET-KEY-1\w+/.exec(text)?.[0];
    if (identity !== undefined) secrets.set('identity', identity);
  }
  for (const [entry, text] of await stored('generated'))
    if (entry === 'apiKey') secrets.set('generated', text);

  // Good calls, by every key.
  expect((await chat('m')).status).toBe(200);
  expect((await chat('m', true)).status).toBe(200);
  const byHeader = await fetch(`${standalone.baseURL}/models`, { headers: { 'x-api-key': xApiKey.text } });
  expect(byHeader.status).toBe(200);
  answers.push(await byHeader.text());
  // The one answer that shows a key: kept out of what is searched.
  const made = await standalone.caller(master.text).send('POST', '/keys', { name: 'made' });
  const { id, value } = JSON.parse(made.text) as { id: string; value: string };
  secrets.set('made', value);
  expect((await send(value, 'GET', '/models')).status).toBe(200);
  await send(master.text, 'GET', `/keys/${id}`);
  await send(master.text, 'GET', '/keys');
  // Keys that are wrong, or in the wrong place.
  for (const wrong of [planted.wrongCaller, mistyped, master.text])
    await send(wrong, 'POST', '/chat/completions', {});
  await send(apiKey.text, 'GET', '/keys');
  for (const text of [value, planted.wrongCaller]) {
    await standalone.caller(master.text).send('GET', `/keys/${text}`);
    await standalone.caller(master.text).send('DELETE', `/keys/${text}`);
    await standalone.caller(master.text).send('GET', `/keys?after=${text}`);
    await standalone.caller(apiKey.text).send('GET', `/unknown/${text}?key=${text}`);
  }
  // In place of a model only a key of ours can be told from a name, which people need to see.
  await standalone.caller(apiKey.text).send('GET', `/models/${value}`);
  await standalone.caller(apiKey.text).chat(value);
  // An upstream that echoes what it was sent.
  for (const status of [401, 403]) {
    upstream.respondWith('/chat/completions', ({ headers }) => ({
      kind: 'answer',
      status,
      headers: { 'www-authenticate': echo(headers), 'x-echo': echo(headers), server: echo(headers) },
      body: { error: { message: echo(headers) } },
    }));
    for (const model of ['m', 's']) expect((await chat(model)).status).toBe(502);
  }
  upstream.respondWith('/chat/completions', ({ headers }) => ({
    kind: 'redirect',
    location: `http://127.0.0.1/${encodeURIComponent(echo(headers))}`,
  }));
  await chat('m');
  upstream.respondWith('/chat/completions', { kind: 'resetBeforeHead' });
  await chat('m');
  // Passed on by contract, but for what the gateway itself has sent.
  for (const status of [400, 500]) {
    upstream.respondWith('/chat/completions', ({ headers }) => ({
      kind: 'answer',
      status,
      headers: { 'x-echo': echo(headers) },
      body: { error: { message: echo(headers) } },
    }));
    for (const model of ['m', 's']) expect((await chat(model)).text).toContain('you sent Bearer [redacted]');
    await send(apiKey.text, 'POST', '/messages', { model: 'm', max_tokens: 1, messages: [] });
  }
  for (const chunks of [0, 1]) {
    upstream.respondWith('/chat/completions', ({ headers }) => ({
      kind: 'errorInStream',
      chunks,
      error: { message: echo(headers) },
    }));
    expect((await chat('m', true)).text).toMatch(/you sent (?:Bearer )?\[redacted\]/);
    await send(apiKey.text, 'POST', '/messages', { model: 'm', max_tokens: 1, messages: [], stream: true });
  }
  // The same in two pieces, cut within the credential.
  upstream.respondWith('/chat/completions', ({ headers }) => ({
    kind: 'run',
    async run({ response }) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n');
      const error = `data: ${JSON.stringify({ error: { message: echo(headers) } })}\n\n`;
      const cut = error.indexOf(planted.secretKey) + 9;
      response.write(error.slice(0, cut));
      await delay(50);
      response.end(error.slice(cut));
    },
  }));
  expect((await chat('m', true)).text).toMatch(/you sent (?:Bearer )?\[redacted\]/);
  // A model list that echoes, which goes into status, events and log: a change of the credential asks for it.
  upstream.respondWith('/models', ({ headers }) => ({
    kind: 'answer',
    status: 401,
    body: { error: { message: echo(headers) } },
  }));
  const asked = upstream.requestsTo('/models').length;
  await standalone.folders.write(
    'node.yaml',
    manifests(node, secret('node', { apiKey: `${planted.secretKey}-2`, header: planted.secretHeader })),
  );
  await upstream.waitFor(() => upstream.requestsTo('/models').length > asked);
  await standalone.until('it is told', () => /401/.test(standalone.output()));

  const metrics = await (await fetch(`${standalone.admin}/metrics`)).text();
  const commandLine = await readFile(`/proc/${standalone.pid}/cmdline`, 'utf8').catch(() => '');
  const environment = await readFile(`/proc/${standalone.pid}/environ`, 'utf8').catch(() => '');
  const isTold = () =>
    receiver.spans.length > answers.length &&
    receiver.metrics.some(({ name }) => name === 'gen_ai.server.request.duration');
  await eventually('spans of requests and attempts are here, and metrics', isTold, 20_000, 20);
  const telemetry = Buffer.concat(receiver.bodies).toString('latin1');
  await receiver.close();
  return {
    standalone,
    upstream,
    secrets,
    answers,
    metrics,
    telemetry,
    commandLine: commandLine + environment,
  };
}

/** The names of the secrets that a text holds, in clear, as base64 or percent-encoded. */
function found(text: string, secrets: ReadonlyMap<string, string>): string[] {
  return [...secrets]
    .filter(([, secret]) =>
      [secret, Buffer.from(secret).toString('base64').replace(/=+$/, ''), encodeURIComponent(secret)].some(
        (form) => text.includes(form),
      ),
    )
    .map(([name]) => name);
}

describe.each(['json', 'text'] as const)('with a log in %s at level debug', (format) => {
  let round: Round;
  beforeAll(async () => {
    round = await play(format);
  });
  afterAll(async () => {
    await round.standalone[Symbol.asyncDispose]();
    await round.upstream.stop();
  });

  test('the credentials really went upstream, so that there was something to leak', () => {
    const sent = round.upstream.requests.map(({ headers }) => echo(headers)).join('\n');
    for (const name of ['secretKey', 'sealedKey', 'secretHeader', 'plainHeader'] as const) {
      expect(sent, name).toContain(planted[name]);
    }
    expect(round.secrets.size).toBe(Object.keys(planted).length + 7);
    // What callers send as their own never goes there.
    const all = JSON.stringify(round.upstream.requests.map(({ rawHeaders, url }) => [url, rawHeaders]));
    const callers = new Map(
      [...round.secrets].filter(([name]) => /api|master|made|generated|identity/i.test(name)),
    );
    expect(found(all, callers)).toEqual([]);
  });

  test('none is in the log', () => {
    expect(round.standalone.output().length).toBeGreaterThan(5000);
    const lines = round.standalone.output().split('\n');
    expect(lines.filter((line) => found(line, round.secrets).length > 0)).toEqual([]);
  });

  test('none is in an answer of ours or in a header of any answer', () => {
    expect(round.answers.length).toBeGreaterThan(15);
    expect(round.answers.filter((answer) => found(answer, round.secrets).length > 0)).toEqual([]);
  });

  test('none is in what is exported by OTLP', () => {
    expect(round.telemetry).toContain('/v1/chat/completions');
    expect(found(round.telemetry, round.secrets)).toEqual([]);
  });

  test('none is in the metrics or in the process list', () => {
    expect(found(round.metrics, round.secrets)).toEqual([]);
    expect(round.commandLine).toContain('standalone');
    expect(found(round.commandLine, round.secrets)).toEqual([]);
  });

  test('none is in a file of the data folder but the state file, and only their owner may read any', async () => {
    const { data } = round.standalone.folders;
    const entries = await readdir(data, { recursive: true, withFileTypes: true });
    const places: Record<string, string[]> = {};
    const files = [];
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      const { mode } = await stat(path);
      const wanted = entry.isDirectory() ? 0o700 : 0o600;
      expect({ path, mode: mode & 0o777 }).toEqual({ path, mode: wanted });
      if (!entry.isFile()) continue;
      files.push(path);
      const names = found(await readFile(path, 'latin1'), round.secrets);
      if (names.length > 0) places[path.slice(data.length + 1)] = names;
    }
    expect(files.length).toBeGreaterThanOrEqual(4);
    // The log of the file holds what was written last.
    const holders = Object.keys(places).filter((place) => !/^state\.sqlite(?:-wal)?$/.test(place));
    expect([holders, [...new Set(Object.values(places).flat())].sort()]).toEqual([
      [],
      ['generated', 'identity'],
    ]);
  });
});

test('an error body of the node passes unchanged, except for errors about the gateway’s own credential', async () => {
  const upstream = await startUpstream({ models: ['m'] });
  await using standalone = await startStandalone({
    manifests: {
      'all.yaml': manifests(
        manifest('UpstreamNode', 'n', { baseURL: upstream.url, manualModels: ['m'] }),
        manifest('APIKey', 'k', { hash: apiKey.hash }),
      ),
    },
  });
  const body = { error: { message: 'the node’s own words', type: 'odd', code: 7 } };
  for (const status of [400, 404, 422, 429, 500]) {
    upstream.respondWith('/chat/completions', { kind: 'answer', status, body });
    const answer = await standalone.caller(apiKey.text).chat('m');
    expect([answer.status, JSON.parse(answer.text)]).toEqual([status, body]);
  }
  for (const status of [401, 403]) {
    upstream.respondWith('/chat/completions', { kind: 'answer', status, body });
    const answer = await standalone.caller(apiKey.text).chat('m');
    expect(answer.status).toBe(502);
    expect(answer.text).not.toContain('own words');
  }
  await upstream.stop();
});
