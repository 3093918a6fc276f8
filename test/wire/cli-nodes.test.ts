import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { generateSealingIdentity, openSealedKey, sealingRecipient } from '../../src/resources/sealed-key.ts';
import { lines, runCli, runShell } from '../support/cli.ts';
import { nodeExamples } from '../support/cli-examples.ts';
import { runHere } from '../support/cli-here.ts';
import { expectSteps, nodeSteps, words } from '../support/cli-steps.ts';
import { newFolders } from '../support/standalone.ts';

const node = (name: string, spec: object = {}) =>
  `${stringify({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { name },
    spec: { baseURL: `https://${name}.example/v1`, ...spec },
  })}---\n`;

/** Folders as a gateway leaves them after its first start: with a recipient to seal to. */
async function startedFolders(manifests: Readonly<Record<string, string>> = {}) {
  vi.unstubAllEnvs();
  const folders = await newFolders(manifests);
  const identity = await generateSealingIdentity();
  await mkdir(folders.data);
  await writeFile(join(folders.data, 'sealing-recipient.txt'), `${await sealingRecipient(identity)}\n`);
  const env = { MODEL_GATEWAY_MANIFESTS: folders.manifests, MODEL_GATEWAY_DATA: folders.data };
  // What the editor loop keeps for people goes with the folders.
  vi.stubEnv('TMPDIR', folders.root);
  return { folders, identity, env };
}

test('the life of nodes and models in a folder of manifests', async () => {
  const { folders, env } = await startedFolders();
  await using _ = folders;
  await expectSteps(nodeSteps, env);
});

test('a command that an answer proposes is for the folder that was asked', async () => {
  const { folders } = await startedFolders({ 'a.yaml': node('a', { manualModels: ['m'], enabled: false }) });
  await using _ = folders;
  const { manifests } = folders;
  const explained = await runHere(['route', 'explain', 'm', '--manifests', manifests]);
  const proposed = `model-gateway --manifests ${manifests} node enable a`;
  expect(explained.stdout).toContain(`(${proposed})`);
  expect((await runHere(proposed.split(' ').slice(1))).stdout).toContain('a enabled');
});

test('every example that help and documents show runs in a folder', async () => {
  const { folders, env } = await startedFolders({
    'nodes.yaml': [
      node('openai', { manualModels: ['gpt-5', 'text-embedding-3'] }),
      node('old-server', { manualModels: ['gpt-5'] }),
    ].join(''),
    key: 'sk-example\n',
  });
  await using _ = folders;
  const examples = await nodeExamples();
  expect(examples.length).toBeGreaterThan(20);
  for (const example of examples) {
    const root = await mkdtemp(join(folders.root, 'example-'));
    await cp(folders.manifests, join(root, 'manifests'), { recursive: true });
    const [command = '', file] = example.split(' <');
    const input = file === undefined ? '' : await readFile(join(folders.manifests, file.trim()), 'utf8');
    const here = { ...env, MODEL_GATEWAY_MANIFESTS: join(root, 'manifests') };
    // No controller runs on the folder that could sync; test/cluster has one.
    const waits = command.startsWith('node sync') && !command.includes('--no-wait');
    const { code, stderr } = await runHere([...words(command), ...(waits ? ['--timeout', '100ms'] : [])], {
      input,
      env: here,
    });
    expect.soft({ example, code, stderr: code === 0 || waits ? '' : stderr }).toEqual({
      example,
      code: waits ? 8 : 0,
      stderr: '',
    });
  }
});

test('the real program: pipes, a reader that goes away, comments that stay, a key that only the gateway opens', async () => {
  const { folders, identity, env } = await startedFolders({
    'nodes.yaml': `# ours\n${node('openai', { priority: 50 })}`,
  });
  await using _ = folders;
  const edited = await runCli(['node', 'edit', 'openai', '--priority', '70', '--api-key-stdin'], {
    env,
    input: 'sk-real\n',
  });
  expect(edited).toEqual({ code: 0, stdout: 'upstreamnode.modelgateway.dev/openai edited\n', stderr: '' });
  const text = await readFile(join(folders.manifests, 'nodes.yaml'), 'utf8');
  expect(text).toMatch(/^# ours\n/);
  expect(text).not.toContain('sk-real');
  const shown = JSON.parse((await runCli(['node', 'show', 'openai', '-o', 'json'], { env })).stdout);
  const opened = await openSealedKey({
    text: shown.spec.encryptedAPIKey,
    identities: [identity],
    namespace: 'default',
    name: 'openai',
    baseURL: shown.spec.baseURL,
  });
  expect(opened).toEqual({ apiKey: 'sk-real' });
  expect(await runShell('$MODEL_GATEWAY nodes | cat', { env })).toMatchObject({ code: 0, stderr: '' });
  // No colour off a terminal, whatever it can do.
  expect((await runCli(['nodes'], { env: { ...env, TERM: 'xterm-256color' } })).stdout).not.toContain(
    '\u001b',
  );
});

test('1,000 nodes: listed in bounded time; a reader that has enough ends it quietly', async () => {
  const all = Array.from({ length: 1_000 }, (_, n) =>
    node(`node-${n}`, { manualModels: ['shared', `own-${n}`] }),
  );
  const { folders, env } = await startedFolders({ 'nodes.yaml': all.join('') });
  await using _ = folders;
  const started = performance.now();
  const { code, stdout } = await runCli(['nodes', '-o', 'wide'], { env });
  expect(code).toBe(0);
  expect(lines(stdout).length).toBe(1_001);
  // 1.0 s on an idle machine of two cores.
  expect(performance.now() - started).toBeLessThan(10_000);
  const cut = await runShell('$MODEL_GATEWAY nodes -o yaml | head -1; echo $PIPESTATUS', { env });
  expect(cut).toEqual({ code: 0, stdout: 'apiVersion: v1\n0\n', stderr: '' });
  const models = await runCli(['models'], { env });
  expect(models.stdout).toMatch(/\nshared +served +node-0, node-1, node-10 and 997 more +-\n/);
});

test('a watch says first which manifests are not in force', async () => {
  const { folders, env } = await startedFolders({ 'nodes.yaml': node('openai') });
  await using _ = folders;
  await folders.write('broken.yaml', 'kind: [');
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'nodes', '--watch'], {
    env: { PATH: process.env['PATH'], ...env },
  });
  let warned = '';
  child.stderr.on('data', (chunk) => {
    warned += chunk;
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.kill('SIGINT');
  await new Promise((resolve) => child.on('exit', resolve));
  expect(warned).toMatch(/^Warning: not in force.*broken\.yaml/);
});

test('Ctrl-C ends a watch with 130', async () => {
  const { folders, env } = await startedFolders({ 'nodes.yaml': node('openai') });
  await using _ = folders;
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'nodes', '--watch'], {
    env: { PATH: process.env['PATH'], ...env },
  });
  let seen = '';
  const exited = new Promise((resolve) => child.on('exit', resolve));
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      const isFirst = seen === '';
      seen += chunk;
      if (isFirst) void folders.write('nodes.yaml', node('openai', { enabled: false }));
      if (seen.includes('disabled')) resolve();
    });
  });
  child.kill('SIGINT');
  expect(await exited).toBe(130);
  expect(seen).toMatch(/^NAME .*\nopenai .* unknown .*\nopenai .* unknown,disabled .*\n$/);
});

test('a command loads nothing of the roles', async () => {
  const { folders, env } = await startedFolders({ 'nodes.yaml': node('openai') });
  await using _ = folders;
  const hook = join(folders.root, 'hook.mjs');
  await writeFile(
    hook,
    `import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context); } });`,
  );
  const { stdout, stderr } = await runShell(
    `\${MODEL_GATEWAY/node /node --import ${pathToFileURL(hook).href} } nodes -o name`,
    { env },
  );
  expect(stdout).toBe('upstreamnode.modelgateway.dev/openai\n');
  const loaded = lines(stderr).filter((url) => url.startsWith('file:'));
  expect(loaded.some((url) => url.endsWith('/src/cli/node/list.ts'))).toBe(true);
  const others =
    /\/src\/(gateway|controller|observe\/(?!version|error-text))|fastify|pino|prom-client|client-node|opentelemetry|\/cli\/(key|model|check)\//;
  expect(loaded.filter((url) => others.test(url))).toEqual([]);
});

test('two people edit one manifest: what both changed is refused, and the text is kept', async () => {
  const { folders, env } = await startedFolders({
    'nodes.yaml': node('openai', { priority: 50, weight: 50 }),
  });
  await using _ = folders;
  const other = (spec: object) => `${JSON.stringify(node('openai', spec))}`;
  const script = join(folders.root, 'editor.mjs');
  // While the editor is open somebody else saves the file.
  await writeFile(
    script,
    `import { readFileSync, writeFileSync } from 'node:fs';
const file = process.argv[2];
writeFileSync(${JSON.stringify(join(folders.manifests, 'nodes.yaml'))}, ${other({ priority: 60, weight: 50 })});
writeFileSync(file, readFileSync(file, 'utf8').replace('priority: 50', 'priority: 70'));`,
  );
  const { code, stderr } = await runHere(['node', 'edit', 'openai'], {
    env: { ...env, EDITOR: `${process.execPath} ${script}` },
  });
  expect(code).toBe(5);
  expect(stderr).toMatch(
    /Another person changed spec\.priority while you edited; look at it and edit again\.\nWhat you wrote is kept in /,
  );
  expect(await readFile(join(folders.manifests, 'nodes.yaml'), 'utf8')).toContain('priority: 60');
});

test('bash completes commands, flags, names and values', async () => {
  const { folders, env } = await startedFolders({
    'nodes.yaml': `${node('openai', { manualModels: ['qwen3:4b', 'qwen3:8b'] })}${node('other')}`,
  });
  await using _ = folders;
  const table: [string, string][] = [
    ['model-gateway nod', 'nodes node'],
    ['model-gateway node show ot', 'other'],
    ['model-gateway nodes --output=y', 'yaml'],
    ['model-gateway model disable openai qwen3:', '4b 8b'],
    ['model-gateway nodes --kubeconfig ', 'compopt -o default'],
  ];
  const calls = table.map(
    ([line]) =>
      `COMP_LINE=${JSON.stringify(line)}; COMP_POINT=\${#COMP_LINE}; _model_gateway; echo "\${COMPREPLY[*]}"`,
  );
  const { stdout } = await runShell(
    `mkdir bin; printf '#!/bin/sh\\nexec %s "$@"\\n' "$MODEL_GATEWAY" > bin/model-gateway; chmod +x bin/model-gateway
PATH=$PWD/bin:$PATH; source <(model-gateway completion bash); compopt() { echo -n "compopt $*"; }
${calls.join('\n')}`,
    { env, cwd: folders.root },
  );
  expect(lines(stdout)).toEqual(table.map(([, wanted]) => wanted));
});

test('lists take labels, as kubectl does', async () => {
  const labelled = (kind: string, name: string, spec: object) =>
    `${stringify({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind,
      metadata: { name, labels: { team: name } },
      spec,
    })}---\n`;
  const { folders, env } = await startedFolders({
    'all.yaml':
      labelled('UpstreamNode', 'a', { baseURL: 'https://a.example/v1' }) +
      labelled('UpstreamNode', 'b', { baseURL: 'https://b.example/v1' }) +
      labelled('APIKey', 'a', { secretName: 'a' }) +
      labelled('APIKey', 'b', { secretName: 'b' }),
  });
  await using _ = folders;
  await expectSteps(
    [
      { run: 'nodes -l team=a -o name', out: ['upstreamnode.modelgateway.dev/a'] },
      { run: "keys --selector 'team notin (a)' -o name", out: ['apikey.modelgateway.dev/b'] },
      { run: 'nodes -l team=', out: [], err: /^No nodes found / },
      { run: 'nodes -l =', code: 2, err: /Give labels as kubectl takes them/ },
    ],
    env,
  );
});

test('a folder that is not there, and flags that contradict each other', async () => {
  const { folders } = await startedFolders();
  await using _ = folders;
  await rm(folders.manifests, { recursive: true });
  await expectSteps(
    [
      {
        run: `nodes --manifests ${folders.manifests}`,
        code: 7,
        err: /does not exist; name another with --manifests/,
      },
      {
        run: 'nodes --manifests x --context y',
        code: 2,
        err: /--context is for a cluster and --manifests for a folder/,
      },
      { run: 'nodes --data x', code: 2, err: /--data goes with --manifests/ },
      { run: 'nodes --as-group x', code: 2, err: /--as-group needs --as/ },
      {
        run: 'nodes -o tree',
        code: 2,
        err: /Allowed choices are table, wide, json, yaml, name\. See model-gateway nodes --help\.\n$/,
      },
      {
        run: 'versoin',
        code: 2,
        err: /^model-gateway: unknown command 'versoin' \(Did you mean version\?\)\. See model-gateway --help\.\n$/,
      },
      { run: 'node', code: 2, err: /^Usage: model-gateway node COMMAND/ },
      {
        run: 'node show',
        code: 2,
        err: /missing required argument 'name'\. See model-gateway node show --help\.\n$/,
      },
      { run: 'node show a b', code: 2, err: /too many arguments/ },
      { run: 'nodes --request-timeout soon', code: 2, err: /Give a time such as 30s, 1m or 0\./ },
    ],
    {},
  );
});
