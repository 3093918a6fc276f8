import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { callerOf } from '../support/caller.ts';
import { runCli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { type Program, startProgram } from '../support/program.ts';
import { manifest } from '../support/standalone.ts';
import { startUpstream } from '../support/upstream.ts';

const cleanup: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-quick-start-'));
  cleanup.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface StartOptions {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly names?: boolean;
  readonly under?: readonly string[];
}

/** `npm start` without npm, in a folder that is not the repository's. */
function run(cwd: string, { flags = [], env = {}, names = true, under = [] }: StartOptions = {}): Program {
  const started = startProgram({ args: ['start', ...flags], cwd, env, names, under });
  cleanup.push(() => started[Symbol.asyncDispose]());
  return started;
}

interface Started {
  readonly program: Program;
  readonly baseURL: string;
  readonly apiKey: string;
  readonly banner: string;
  readonly curl: string;
}

async function start(cwd: string, options: StartOptions = {}): Promise<Started> {
  const program = run(cwd, options);
  await program.until('the banner is there', () => program.stdout().includes('Ctrl-C stops it.'));
  const banner = program.stdout();
  const row = (name: string) => new RegExp(`^  ${name} +(.+)$`, 'm').exec(banner)?.[1] ?? '';
  const curl = /^curl .*$/m.exec(banner)?.[0] ?? '';
  return { program, banner, baseURL: row('Base URL'), apiKey: row('API key'), curl };
}

function paste(command: string): Promise<{ code: number | null; stdout: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', { stdio: ['pipe', 'pipe', 'ignore'], timeout: 20_000 });
    let stdout = '';
    child.stdout.on('data', (piece: Buffer) => {
      stdout += piece.toString();
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout }));
    child.stdin.end(`${command}\n`);
  });
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Occupies a port, 0 for any; nothing happens where it is taken already, which serves a test as well. */
async function occupy(port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.once('error', () => resolve());
    server.listen(port, '127.0.0.1', () => resolve());
  });
  cleanup.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo | null)?.port ?? port;
}

describe('the first start', () => {
  test('prints a command that streams an answer as it stands, and Ctrl-C ends it in order', async () => {
    const folder = await emptyFolder();
    const { program, banner, baseURL, apiKey, curl } = await start(folder);
    expect(baseURL).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(apiKey).toMatch(/^mgk_[0-9A-Za-z]{49}$/);
    expect(banner).toContain(`Manifests  ${join(folder, 'model-gateway/manifests')} (edit and save`);
    expect(banner).toMatch(/^ {2}Node +demo, a demo upstream: it echoes, there is no model in it$/m);
    expect(banner).toMatch(/^ {2}Add one +\S+provider\.yaml\.example says how to add a real provider$/m);
    const { code, stdout } = await paste(curl);
    expect(code).toBe(0);
    const words = stdout
      .split('\n\n')
      .filter((event) => event.startsWith('data: {'))
      .map((event) => JSON.parse(event.slice(6)).choices[0].delta.content ?? '');
    expect(words.join('')).toMatch(/no model in it: it only echoes.*Say hello\./);
    expect(stdout.trimEnd().endsWith('data: [DONE]')).toBe(true);
    expect(program.output()).not.toMatch(/"level":"error"| error /);
    expect(await program.stop('SIGINT')).toBe(0);
  });

  test('moves off port 8080 when it is taken, and says so', async () => {
    await occupy(8080);
    const { banner, baseURL, curl } = await start(await emptyFolder());
    const { port } = new URL(baseURL);
    expect(Number(port)).not.toBe(8080);
    expect(banner).toContain('Note: Port 8080 is taken; another one is used. --listen HOST:PORT chooses it.');
    expect((await paste(curl)).stdout).toContain('[DONE]');
  });

  test('does not speak of a taken port where one was chosen', async () => {
    const { banner } = await start(await emptyFolder(), { flags: ['--listen', '127.0.0.1:0'] });
    expect(banner).not.toContain('taken');
  });
});

test('the second start keeps key, manifests and what was made', async () => {
  const folder = await emptyFolder();
  const first = await start(folder);
  const master = 'a-master-key-of-more-than-24-characters';
  const hash = `sha256:${createHash('sha256').update(master).digest('hex')}`;
  const extra = join(folder, 'model-gateway/manifests/master.yaml');
  await writeFile(extra, manifest('MasterKey', 'admin', { hash }));
  const admin = callerOf(first.baseURL, master);
  await eventually(
    'the master key opens',
    async () => (await admin.send('GET', '/keys')).status === 200,
    5000,
  );
  const made = JSON.parse((await admin.send('POST', '/keys', { name: 'made' })).text);
  const manifestsBefore = await Promise.all(
    (await filesBelow(join(folder, 'model-gateway/manifests'))).sort().map((file) => readFile(file, 'utf8')),
  );
  expect(await first.program.stop('SIGINT')).toBe(0);

  const second = await start(folder);
  expect(second.apiKey).toBe(first.apiKey);
  expect((await callerOf(second.baseURL, made.value).chat('demo-echo')).status).toBe(200);
  expect((await paste(second.curl)).stdout).toContain('[DONE]');
  const manifestsAfter = await Promise.all(
    (await filesBelow(join(folder, 'model-gateway/manifests'))).sort().map((file) => readFile(file, 'utf8')),
  );
  expect(manifestsAfter).toEqual(manifestsBefore);
});

test('two at once in one folder: the second is refused, and the first goes on', async () => {
  const folder = await emptyFolder();
  const first = await start(folder);
  const demo = join(folder, 'model-gateway/manifests/demo.yaml');
  const before = await readFile(demo, 'utf8');
  const second = run(folder);
  expect(await second.exited).toBe(1);
  expect(second.output()).toMatch(
    /^model-gateway: Another process(?: \(\d+\))? uses the data folder \S+; stop it, or name another folder with --data$/m,
  );
  expect(await readFile(demo, 'utf8')).toBe(before);
  expect((await paste(first.curl)).stdout).toContain('[DONE]');
});

describe('a later start whose files were changed', () => {
  /** Starts once, stops, changes the manifests and starts again. */
  async function startAfter(change: (manifests: string) => Promise<unknown>) {
    const folder = await emptyFolder();
    const first = await start(folder);
    expect(await first.program.stop('SIGINT')).toBe(0);
    await change(join(folder, 'model-gateway/manifests'));
    const began = performance.now();
    const second = await start(folder);
    return { ...second, folder, ms: performance.now() - began };
  }

  test('no quick-start key: it says so at once, names another key, and its command shows it', async () => {
    const { banner, ms } = await startAfter(async (manifests) => {
      await rm(join(manifests, 'api-key.yaml'));
      await writeFile(join(manifests, 'mine.yaml'), manifest('APIKey', 'mine', { secretName: 'mine' }));
    });
    expect(banner).toMatch(/^ {2}API key +none: no manifest declares the key quick-start$/m);
    expect(banner).toContain('Note: The key mine is in force');
    // It waited 10 s for a key that nobody issues.
    expect(ms).toBeLessThan(8_000);
  });

  test('a mistake in api-key.yaml that was valid before: its key is in force and shown', async () => {
    const { banner, apiKey, curl } = await startAfter((manifests) =>
      writeFile(join(manifests, 'api-key.yaml'), 'kind: [\n'),
    );
    expect(apiKey).toMatch(/^mgk_/);
    expect(banner).toMatch(/^Note: Not in force: api-key\.yaml:\d+: is not YAML/m);
    expect((await paste(curl)).stdout).toContain('[DONE]');
  });

  test('a disabled key: it says so', async () => {
    const { banner } = await startAfter((manifests) =>
      writeFile(
        join(manifests, 'api-key.yaml'),
        manifest('APIKey', 'quick-start', { secretName: 'quick-start-key', enabled: false }),
      ),
    );
    expect(banner).toMatch(/^ {2}API key +none: the key quick-start is disabled$/m);
    expect(banner).toContain('Note: No key is in force. To make one: npm start --silent -- key create NAME');
  });

  test('a mistake in demo.yaml: its last good version answers, and the banner says so', async () => {
    const { banner, curl } = await startAfter(async (manifests) => {
      const path = join(manifests, 'demo.yaml');
      await writeFile(path, `${await readFile(path, 'utf8')}foo: [bar\n`);
    });
    expect(banner).toMatch(
      /^ {2}Node +demo, .*; demo\.yaml is not valid now, its last good version is in force$/m,
    );
    expect(banner).toMatch(/^Note: Not in force: demo\.yaml:\d+: is not YAML/m);
    expect(banner).not.toContain('points elsewhere');
    expect((await paste(curl)).stdout).toContain('[DONE]');
  });

  test('a mistake in demo.yaml that was never valid: there is no node', async () => {
    const folder = await emptyFolder();
    const manifests = join(folder, 'model-gateway/manifests');
    await mkdir(manifests, { recursive: true });
    await writeFile(join(manifests, 'demo.yaml'), 'foo: [bar\n');
    const { banner } = await start(folder);
    expect(banner).toMatch(/^ {2}Node +none: demo\.yaml is not valid$/m);
    expect(banner).toContain('No model is known yet: correct demo.yaml');
  });
});

test('the command line of the banner lists the nodes of its folder', async () => {
  const { banner } = await start(await emptyFolder());
  const command = /^ {2}Commands +npm start --silent -- (.+)$/m.exec(banner)?.[1] ?? '';
  const { code, stdout } = await runCli(command.split(' '));
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^demo +http/m) });
});

test('a second process with data of its own leaves the manifests of the first alone', async () => {
  const folder = await emptyFolder();
  const first = await start(folder);
  const manifests = join(folder, 'model-gateway/manifests');
  const before = await readFile(join(manifests, 'demo.yaml'), 'utf8');
  const flags = ['--manifests', manifests, '--data', join(folder, 'other-data')];
  const second = await start(folder, { flags });
  expect(second.banner).toContain(`Note: Another process serves ${manifests} and runs the demo upstream`);
  expect(await second.program.stop('SIGINT')).toBe(0);
  expect(await readFile(join(manifests, 'demo.yaml'), 'utf8')).toBe(before);
  expect((await paste(first.curl)).stdout).toContain('[DONE]');
});

describe('another upstream', () => {
  test('OPENAI_API_KEY declares OpenAI, with the key sealed and nowhere in clear', async () => {
    const folder = await emptyFolder();
    const planted = 'sk-planted-credential-1234567890abcdef';
    const program = run(folder, { env: { OPENAI_API_KEY: planted }, names: false });
    const path = join(folder, 'model-gateway/manifests/openai.yaml');
    await program.until('OpenAI is declared', () =>
      readFile(path).then(
        () => true,
        () => false,
      ),
    );
    const { kind, spec } = parse(await readFile(path, 'utf8'));
    expect(kind).toBe('UpstreamNode');
    expect(spec).toMatchObject({ baseURL: 'https://api.openai.com/v1', nativeFormats: ['Responses'] });
    expect(spec.encryptedAPIKey).toContain('BEGIN AGE ENCRYPTED FILE');
    await program.until('the banner is there', () => program.stdout().includes('Ctrl-C stops it.'));
    expect(program.stdout()).toMatch(/^ {2}Node +openai, OpenAI$/m);
    // What keeps this test off the network is at work.
    await program.until('the look-up was refused', () => program.output().includes('ENONAMES'));
    expect(await program.stop('SIGINT')).toBe(0);
    for (const file of await filesBelow(folder)) {
      expect(await readFile(file, 'latin1'), file).not.toContain(planted);
    }
    expect(program.output()).not.toContain(planted);
  });

  test('--upstream declares that server, and the command asks one of its models', async () => {
    const upstream = await startUpstream({ models: ['llama-of-mine'] });
    cleanup.push(() => upstream.stop());
    const folder = await emptyFolder();
    const { banner, curl } = await start(folder, { flags: ['--upstream', upstream.url] });
    expect(banner).toMatch(/^ {2}Node +upstream, your server$/m);
    expect(curl).toContain('"model":"llama-of-mine"');
    expect((await paste(curl)).stdout).toContain('[DONE]');
    expect(upstream.requestsTo('/chat/completions')).toHaveLength(1);
  });

  test('--upstream at a server that is down says so soon, and works once it is up', async () => {
    const upstream = await startUpstream({ models: ['late'] });
    cleanup.push(() => upstream.stop());
    upstream.pause();
    const began = performance.now();
    const { banner, program } = await start(await emptyFolder(), { flags: ['--upstream', upstream.url] });
    expect(performance.now() - began).toBeLessThan(9000);
    expect(banner).toContain('No model is known yet: node upstream has not answered');
    await upstream.resume();
    await program.until(
      'its model is found',
      () => program.output().includes('Added 1 model: late.'),
      60_000,
    );
  });

  test.each([
    ['ftp://127.0.0.1/v1', /--upstream: "ftp:\/\/127\.0\.0\.1\/v1" must be the base URL/],
    ['nonsense', /--upstream: "nonsense" must be the base URL of an OpenAI-compatible server: http:/],
  ])('--upstream %s is refused', async (url, message) => {
    const program = run(await emptyFolder(), { flags: ['--upstream', url] });
    expect(await program.exited).toBe(2);
    expect(program.output()).toMatch(message);
  });
});

describe('a fault says what to do', () => {
  test('broken YAML, at the start and while it runs; the rest goes on working', async () => {
    const folder = await emptyFolder();
    const first = await start(folder);
    expect(await first.program.stop('SIGINT')).toBe(0);
    const broken = join(folder, 'model-gateway/manifests/broken.yaml');
    await writeFile(broken, 'kind: UpstreamNode\nspec: [unclosed\n');
    const { program, curl } = await start(folder, { flags: ['--log-format', 'json'] });
    const told = () => program.log().filter(({ level, file }) => level === 'error' && file === 'broken.yaml');
    expect(told()).toEqual([
      expect.objectContaining({ line: expect.any(Number), reason: expect.any(String), remedy: 'correct it' }),
    ]);
    expect((await paste(curl)).stdout).toContain('[DONE]');
    const node = (priority: number) =>
      manifest('UpstreamNode', 'late', { baseURL: 'http://127.0.0.1:9/v1', priority });
    await writeFile(broken, `${manifest('APIKey', 'fine', { secretName: 'fine' })}---\n${node(101)}`);
    await program.until('the fault is told', () => told().length === 2);
    expect(told()[1]).toMatchObject({
      document: 2,
      line: expect.any(Number),
      object: 'UpstreamNode/default/late',
      field: 'spec.priority',
      found: '101',
      reason: 'must be at most 100',
      remedy: 'lower it',
    });
    const text = (await readFile(broken, 'utf8')).split('\n');
    expect(text[Number(told()[1]?.['line']) - 1]).toContain('"priority": 101');
    expect((await paste(curl)).stdout).toContain('[DONE]');
    await program.until('the good document applies', () =>
      program.log().some(({ object, reason }) => object === 'APIKey/default/fine' && reason === 'KeyIssued'),
    );
  });

  test('a port of somebody else', async () => {
    const port = await occupy(0);
    for (const flag of ['--listen', '--admin-listen']) {
      const program = run(await emptyFolder(), { flags: [flag, `127.0.0.1:${port}`] });
      expect(await program.exited).toBe(2);
      expect(program.output()).toMatch(
        new RegExp(
          `^model-gateway: Cannot listen on 127\\.0\\.0\\.1:${port}: .*another program listens there; choose another address`,
          'm',
        ),
      );
    }
  });

  test('a file in place of the folder', async () => {
    const folder = await emptyFolder();
    await writeFile(join(folder, 'model-gateway'), '');
    const program = run(folder);
    expect(await program.exited).toBe(1);
    expect(program.output()).toMatch(
      /^model-gateway: .*\/model-gateway.*this is a file, and a folder is needed; move the file away/m,
    );
    expect(program.output()).not.toMatch(/^ +at /m);
  });

  test('a folder that it may not write to', async () => {
    const folder = await emptyFolder();
    const closed = join(folder, 'closed');
    await mkdir(closed);
    await chmod(closed, 0o555);
    // Root passes every permission, unless it gives that capability up.
    const under =
      process.getuid?.() === 0
        ? ['setpriv', '--bounding-set', '-dac_override', '--inh-caps', '-dac_override']
        : [];
    const program = run(closed, { under });
    expect(await program.exited).toBe(1);
    expect(program.output()).toMatch(
      /^model-gateway: EACCES: .*\/closed\/model-gateway.*this user has no permission; choose folders that it may write to with --manifests and --data\.$/m,
    );
    expect(program.output()).not.toMatch(/^ +at /m);
  });

  test.skipIf(spawnSync('unshare', ['--mount', 'true']).status !== 0)('a read-only file system', async () => {
    const folder = await emptyFolder();
    const script = 'mount -t tmpfs -o ro tmpfs "$0" && cd "$0" && exec "$@"';
    const program = run(folder, { under: ['unshare', '--mount', 'sh', '-c', script, folder] });
    expect(await program.exited).toBe(1);
    expect(program.output()).toMatch(
      /^model-gateway: EROFS: .*: the file system is read-only; choose another folder with --manifests or --data\.$/m,
    );
  });

  test.each<[string, string[], RegExp]>([
    [
      'an unknown flag',
      ['--lisen', ':1'],
      /unknown option '--lisen' .*Did you mean --listen.*See model-gateway start --help/,
    ],
    [
      'an address that is none',
      ['--listen', '8080'],
      /--listen: "8080" must be HOST:PORT with a port from 0 to 65535, such as 127\.0\.0\.1:8080/,
    ],
    [
      'a port out of bounds',
      ['--listen', ':70000'],
      /--listen: ":70000" must be HOST:PORT with a port from 0 to 65535/,
    ],
    ['an unknown level', ['--log-level', 'loud'], /--log-level: "loud"/],
  ])('%s', async (_, flags, message) => {
    const folder = await emptyFolder();
    const program = run(folder, { flags });
    expect(await program.exited).toBe(2);
    expect(program.output()).toMatch(message);
    expect(await readdir(folder)).toEqual([]);
  });
});
