import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import { eventually } from '../support/eventually.ts';
import { condition } from '../support/resources.ts';
import { runProduct } from '../support/run-product.ts';
import { type Stage, startStage } from '../support/stage.ts';

// Puts every kind of credential into every place that may hold one, and then searches for them in all answers, logs, metrics
// and objects of the product.
let stage: Stage;
const planted = new Map<string, string>();
const plant = (what: string, text = `sk-planted-${randomBytes(12).toString('hex')}`): string => {
  planted.set(what, text);
  return text;
};
const answers: string[] = [];

beforeAll(async () => {
  stage = await startStage({ namespaces: ['credentials'], logLevel: 'debug' });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const ready = (name: string) =>
  stage.until('ready', 'UpstreamNode', name, (node) => node.status?.phase === 'ready');

test('everything works with planted credentials, and fails in every way that might show them', async () => {
  const { home, resources, cluster } = stage;
  // A node with its key in a Secret and headers from a Secret and from the manifest.
  const nodeKey = plant('node key in a Secret');
  const headers = {
    fromSecret: plant('header from a Secret'),
    fromSpec: plant('header from the manifest'),
  };
  await resources.addSecret(home, 'node-key', { apiKey: `${nodeKey}\n`, header: headers.fromSecret });
  const upstream = await stage.upstream({ apiKey: nodeKey, models: ['m'] });
  await resources.create('UpstreamNode', home, 'plain', {
    baseURL: upstream.url,
    apiKeySecretRef: { name: 'node-key' },
    headers: [
      { name: 'x-from-secret', secretRef: { name: 'node-key', key: 'header' } },
      { name: 'x-from-spec', value: headers.fromSpec },
    ],
  });
  await ready('plain');
  expect(upstream.requests[0]?.headers).toMatchObject({
    authorization: `Bearer ${nodeKey}`,
    'x-from-secret': headers.fromSecret,
    'x-from-spec': headers.fromSpec,
  });

  // A sealed one.
  const sealedKey = plant('sealed node key');
  const sealedUpstream = await stage.upstream({ apiKey: sealedKey, models: ['sealed'] });
  const sealed = await runProduct(
    [
      'seal',
      ...['--kubeconfig', cluster.address.kubeconfig, '--home-namespace', home, '--namespace', home],
      ...['--name', 'sealed', '--base-url', sealedUpstream.url],
    ],
    sealedKey,
  );
  const encryptedAPIKey = sealed.stdout.replace(/^encryptedAPIKey: \|\n/, '').replaceAll(/^ {2}/gm, '');
  await resources.create('UpstreamNode', home, 'sealed', { baseURL: sealedUpstream.url, encryptedAPIKey });
  await ready('sealed');
  const pair = await resources.secret(home, 'model-gateway-sealing');
  const identity = /AGE-SECRET-KEY-[0-9A-Z]+/.exec(pair?.text['identities'] ?? '')?.[0];
  plant('sealing identity', identity ?? expect.unreachable('no identity'));

  // One that quotes the credential in all its errors, as some servers do; one whose key is refused.
  const quoted = plant('key that the node quotes');
  await resources.addSecret(home, 'quoted', { apiKey: quoted });
  const quoting = await stage.upstream();
  const body = { error: { message: `Incorrect API key provided: ${quoted}`, code: quoted, type: quoted } };
  quoting.respondWith('*', { kind: 'answer', status: 401, body, headers: { 'x-echo': quoted } });
  await resources.create('UpstreamNode', home, 'quoting', {
    baseURL: quoting.url,
    apiKeySecretRef: { name: 'quoted' },
    manualModels: ['q'],
  });
  // What no header can carry, and what is not even sealed.
  const unusable = plant('credential with a line break');
  await resources.addSecret(home, 'unusable', { apiKey: `${unusable}\nsecond line` });
  await resources.create('UpstreamNode', home, 'unusable', {
    baseURL: upstream.url,
    apiKeySecretRef: { name: 'unusable' },
  });
  const pasted = plant('plain key pasted as a sealed one');
  const refused = await cluster.apply(
    `
apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata: {name: pasted}
spec: {baseURL: "${upstream.url}", encryptedAPIKey: ${pasted}}
`,
    home,
  );
  expect(refused.applied).toBe(false);
  const damaged = encryptedAPIKey.replace(/\n(.)/, '\nA$1');
  const other = { baseURL: sealedUpstream.url, encryptedAPIKey: damaged };
  await resources.create('UpstreamNode', home, 'damaged', other).catch(() => undefined);

  // Caller keys: generated, brought along, made through the API, and wrong ones.
  await resources.create('APIKey', home, 'generated', { secretName: 'generated-key' });
  const textOf = async (name: string) => (await resources.secret(home, name))?.text['apiKey'];
  await eventually('the key is issued', async () => (await textOf('generated-key')) !== undefined);
  const generated = plant('generated key', await textOf('generated-key'));
  await resources.create('MasterKey', home, 'master', { secretName: 'master-key' });
  await eventually('the master key is issued', async () => (await textOf('master-key')) !== undefined);
  const master = plant('master key', await textOf('master-key'));
  const brought = plant('key issued elsewhere', `foreign-${randomBytes(20).toString('hex')}`);
  await resources.create('APIKey', home, 'brought', { hash: hashKeyText(brought), hint: '...abcd' });
  const unknown = plant('unknown key', generateKeyText('api', randomBytes));
  const mistyped = plant('mistyped key', `${generateKeyText('api', randomBytes).slice(0, -1)}!`);
  await eventually('the last opens', async () => (await stage.caller(brought).chat('m')).status === 200);
  await eventually(
    'the master opens',
    async () => (await stage.caller(master).send('GET', '/keys')).status === 200,
  );
  const made = await stage.caller(master).send('POST', '/keys', { name: 'made' });
  const { id, value } = JSON.parse(made.text) as { id: string; value: string };
  plant('key made through the API', value);

  // Every way to be answered, well and badly.
  for (const key of [generated, brought, value, master, unknown, mistyped, nodeKey]) {
    const caller = stage.caller(key);
    for (const model of ['m', 'sealed', 'q', 'none']) {
      for (const stream of [false, true]) {
        const answer = await caller.chat(model, { stream });
        answers.push(answer.text, JSON.stringify([...answer.headers]));
      }
    }
    for (const [method, path] of [
      ['GET', '/models'],
      ['GET', '/keys?limit=100'],
      ['GET', `/keys/${id}`],
      ['POST', `/nothing/${key}`],
    ] as const) {
      const answer = await caller.send(method, path, method === 'POST' ? { model: 'm', key } : undefined);
      // The key in a path is the caller's own doing and comes back to it alone; the log must not have it.
      if (!path.includes(key)) answers.push(answer.text);
    }
  }
  upstream.respondWith('/chat/completions', { kind: 'resetAfterHead' });
  answers.push((await stage.caller(generated).chat('m')).text);
  upstream.pause();
  answers.push((await stage.caller(generated).chat('m')).text);
  await upstream.resume();
  upstream.respondWith('/chat/completions', undefined);
  // A revision, so that the old one is planted too, and a sync that fails.
  await resources.patch('APIKey', home, 'generated', {
    spec: { rotation: { revision: 1, overlapSeconds: 60 } },
  });
  await eventually('rotated', async () => (await textOf('generated-key')) !== generated);
  plant('rotated key', await textOf('generated-key'));
  await cluster.client.ask('PATCH', `/api/v1/namespaces/${home}/secrets/node-key`, {
    body: { stringData: { apiKey: plant('node key that is refused') } },
  });
  await stage.until('refused', 'UpstreamNode', 'plain', (node) => node.status?.phase === 'error');
  await stage.until('judged', 'UpstreamNode', 'unusable', (node) => Boolean(condition(node, 'Stalled')));
  await stage.until('judged', 'UpstreamNode', 'quoting', (node) => node.status?.phase !== undefined);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
});

/** What of the planted credentials is in a text, by what they are. */
function found(text: string, ...allowed: string[]): string[] {
  const plain = [...planted].filter(
    ([what, credential]) => !allowed.includes(what) && text.includes(credential),
  );
  const encoded = [...planted].filter(([, credential]) =>
    // The three ways in which base64 may cut it.
    [0, 1, 2].some((skip) =>
      text.includes(Buffer.from(credential.slice(skip)).toString('base64').slice(0, -4)),
    ),
  );
  return [...plain, ...encoded].map(([what]) => what);
}

test('the search finds what is there', () => {
  expect(planted.size).toBeGreaterThanOrEqual(15);
  for (const [what, credential] of planted) {
    expect(found(`x${credential}x`)).toContain(what);
    expect(found(Buffer.from(`ab${credential}c`).toString('base64'))).toContain(what);
  }
});

test('no log has one, at debug level', () => {
  for (const [said, process] of [
    ...stage.controllers.map((each) => ['"level":"debug"', each] as const),
    // A gateway has a line for each request and no more to say at debug level.
    ...stage.gateways.map((each) => ['Answered a request', each] as const),
  ]) {
    expect(process.output()).toContain(said);
    expect(found(process.output()), process.role).toEqual([]);
  }
});

test('no status, condition or Event has one, and nothing but Secrets and the manifest itself does', async () => {
  const { client } = stage.cluster;
  const list = async (path: string) => JSON.stringify(await client.ask('GET', path));
  const group = `/apis/modelgateway.dev/v1alpha1/namespaces/${stage.home}`;
  expect(found(await list(`${group}/upstreamnodes`), 'header from the manifest')).toEqual([]);
  const nodes = (await client.ask('GET', `${group}/upstreamnodes`)) as { items: { status?: unknown }[] };
  expect(found(JSON.stringify(nodes.items.map(({ status }) => status)))).toEqual([]);
  for (const path of [
    `${group}/apikeys`,
    `${group}/masterkeys`,
    `/apis/events.k8s.io/v1/namespaces/${stage.home}/events`,
    `/api/v1/namespaces/${stage.home}/configmaps`,
    `/apis/coordination.k8s.io/v1/namespaces/${stage.home}/leases`,
  ]) {
    const text = await list(path);
    expect(text.length).toBeGreaterThan(100);
    expect(found(text), path).toEqual([]);
  }
  const events = await list(`/apis/events.k8s.io/v1/namespaces/${stage.home}/events`);
  expect(events).toContain('KeyIssued');
});

test('no metric, probe or answer has one', async () => {
  for (const process of [...stage.controllers, ...stage.gateways]) {
    for (const path of ['/metrics', '/readyz', '/livez'] as const) {
      const { body } = await process.probe(path);
      expect(found(body), `${process.role} ${path}`).toEqual([]);
    }
  }
  expect(answers.length).toBeGreaterThan(100);
  for (const answer of answers) expect(found(answer), answer.slice(0, 500)).toEqual([]);
});

test('no process shows one in its arguments or environment', async () => {
  for (const { pid, role } of [...stage.controllers, ...stage.gateways]) {
    for (const file of ['cmdline', 'environ']) {
      const text = await readFile(`/proc/${pid}/${file}`, 'latin1');
      expect(text.length, file).toBeGreaterThan(10);
      expect(found(text), `${role} ${file}`).toEqual([]);
    }
  }
});
