import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { condition } from '../support/resources.ts';
import { runProduct } from '../support/run-product.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['loop', 'loop-other'] });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const get = async (...rest: string[]) => {
  const { code, stdout, stderr } = await stage.cluster.kubectl(['--namespace', stage.home, 'get', ...rest]);
  if (code !== 0) throw new Error(stderr);
  // Columns are parted by two blanks or more; a cell may hold single ones.
  const rows = stdout.trimEnd().split('\n');
  return rows.map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
};

test('from kubectl apply to the first answers', async () => {
  const upstream = await stage.upstream({ apiKey: 'sk-loop', models: ['one', 'two'], chunks: 4 });
  const began = performance.now();
  const applied = await stage.cluster.apply(
    `
apiVersion: v1
kind: Secret
metadata: {name: credential}
stringData: {apiKey: sk-loop}
---
apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata: {name: first}
spec:
  displayName: The first
  baseURL: ${upstream.url}
  apiKeySecretRef: {name: credential}
  models:
    - {name: two, aliases: [zwei]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: APIKey
metadata: {name: app}
spec: {secretName: app-key}
`,
    stage.home,
  );
  expect(applied).toMatchObject({ applied: true });
  let text = '';
  await eventually('the key Secret is filled', async () => {
    text = (await stage.resources.secret(stage.home, 'app-key'))?.text['OPENAI_API_KEY'] ?? '';
    return text !== '';
  });
  const caller = stage.caller(text);
  await eventually('the first answer', async () => (await caller.chat('one')).status === 200);
  console.log(`measured: kubectl apply → first answer: ${Math.round(performance.now() - began)} ms`);

  const answer = await caller.chat('one');
  expect(answer.headers.get('x-model-gateway-node')).toBe(`${stage.home}/first`);
  const streamed = await caller.chat('zwei', { stream: true });
  expect(streamed.status).toBe(200);
  expect(streamed.text).toMatch(/data: \[DONE\]\n\n$/);
  const sent = JSON.parse(upstream.requestsTo('/chat/completions').at(-1)?.body.toString() ?? '{}');
  expect(sent).toMatchObject({ model: 'two', stream: true });
  expect(await caller.models()).toEqual(['one', 'two', 'zwei']);

  const node = await stage.until('ready', 'UpstreamNode', 'first', (each) => each.status?.phase === 'ready');
  expect(node.status).toMatchObject({
    observedGeneration: 1,
    modelCount: 2,
    enabledModelCount: 2,
    apiKeySet: true,
    syncedWith: { baseURL: upstream.url },
    models: [
      { name: 'one', enabled: true, source: 'Discovered' },
      { name: 'two', enabled: true, source: 'Discovered' },
    ],
  });
  const types = ['Ready', 'ModelsSynced', 'CredentialsResolved'];
  expect(types.map((type) => condition(node, type)?.split(' ')[0])).toEqual(['True', 'True', 'True']);
  expect(node.metadata.generation).toBe(1);

  expect(await get('upnode')).toEqual([
    ['NAME', 'URL', 'STATUS', 'MODELS', 'LAST SYNC', 'ENABLED', 'PRIORITY', 'WEIGHT', 'AGE'],
    ['first', upstream.url, 'ready', '2/2', expect.any(String), 'true', '50', '50', expect.any(String)],
  ]);
  const [wideHead = [], wideRow = []] = await get('upnode', '-o', 'wide');
  expect(wideHead.slice(-3)).toEqual(['DISPLAY NAME', 'LAST CHECK', 'MESSAGE']);
  expect(wideRow.slice(-3)).toEqual([
    'The first',
    'Healthy',
    'The node is accepted and its models are known.',
  ]);
  await stage.until('ready', 'APIKey', 'app', (key) => condition(key, 'Ready')?.startsWith('True') ?? false);
  const [keyHead = [], keyRow = []] = await get('apik');
  expect(keyHead).toEqual(['NAME', 'READY', 'ENABLED', 'HINT', 'MODELS', 'EXPIRES', 'AGE']);
  expect(keyRow.slice(0, 4)).toEqual(['app', 'True', 'true', `mgk_...${text.slice(-4)}`]);
  const all = await stage.cluster.kubectl(['--namespace', stage.home, 'get', 'modelgateway', '-o', 'name']);
  expect(all.stdout.trim().split('\n').sort()).toEqual([
    'apikey.modelgateway.dev/app',
    'gatewayreport.modelgateway.dev/gateway-0',
    'upstreamnode.modelgateway.dev/first',
  ]);
});

describe('a sealed credential', () => {
  const seal = (name: string, baseURL: string, key: string) =>
    runProduct(
      [
        'seal',
        ...['--kubeconfig', stage.cluster.address.kubeconfig, '--home-namespace', stage.home],
        ...['--namespace', stage.home, '--name', name, '--base-url', baseURL],
      ],
      key,
    );
  const nodeOf = (name: string, baseURL: string, sealed: string) => `
apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata: {name: ${name}}
spec:
  baseURL: ${baseURL}
${sealed.replaceAll(/^/gm, '  ')}
`;

  test('sealed by the published ConfigMap opens where it was sealed for, and nowhere else', async () => {
    const upstream = await stage.upstream({ apiKey: 'sk-sealed', models: ['sealed-model'] });
    const { code, stdout, stderr } = await seal('sealed', upstream.url, 'sk-sealed\n');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toContain('sk-sealed');
    const here = await stage.cluster.apply(nodeOf('sealed', upstream.url, stdout), stage.home);
    expect(here).toMatchObject({ applied: true });
    await stage.until('ready', 'UpstreamNode', 'sealed', (node) => node.status?.phase === 'ready');
    const caller = stage.caller(await stage.resources.addKey(stage.home, 'sealed-caller'));
    await eventually('it serves', async () => (await caller.chat('sealed-model')).status === 200);

    // Copied by somebody who may write manifests but not read the credential.
    const [, other = ''] = stage.namespaces;
    const thief = await stage.upstream({ models: ['thief-model'] });
    const places = [
      { namespace: other, name: 'sealed', url: upstream.url, differs: 'namespace' },
      { namespace: stage.home, name: 'renamed', url: upstream.url, differs: 'name' },
      { namespace: stage.home, name: 'sealed', url: thief.url, differs: 'origin' },
    ];
    for (const { namespace, name, url, differs } of places) {
      const copied = await stage.cluster.apply(nodeOf(name, url, stdout), namespace);
      expect(copied).toMatchObject({ applied: true });
      const refused = await stage.until(
        `refused for another ${differs}`,
        'UpstreamNode',
        name,
        (node) => condition(node, 'CredentialsResolved') === 'False SealedKeyRefused',
        { namespace },
      );
      expect(refused.status).toMatchObject({ phase: 'error', apiKeySet: false });
      const message = refused.status?.conditions?.find(({ type }) => type === 'CredentialsResolved')?.message;
      expect(message).toContain(differs);
    }
    expect(thief.requests).toEqual([]);
  });

  test('waits for the sealing pair to be published in exactly one Secret, whose private half only it holds', async () => {
    const pair = await stage.resources.secret(stage.home, 'model-gateway-sealing');
    expect(pair?.text['identities']).toMatch(/^AGE-SECRET-KEY-/m);
    const path = `/api/v1/namespaces/${stage.home}/configmaps/model-gateway-sealing`;
    const published = (await stage.cluster.client.ask('GET', path)) as { data: Record<string, string> };
    expect(published.data).toEqual({ recipient: expect.stringMatching(/^age1/) });
  });

  test('cannot be sealed where there is no controller, and says so', async () => {
    const args = ['seal', '--kubeconfig', stage.cluster.address.kubeconfig, '--home-namespace', 'nowhere'];
    const failed = await runProduct([...args, '--name', 'n', '--base-url', 'https://x.example/v1'], 'sk-x');
    expect(failed.code).toBe(2);
    expect(failed.stderr).toContain('no ConfigMap nowhere/model-gateway-sealing');
    expect(failed.stderr).not.toContain('sk-x');
  });
});
