import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { agentSettings } from '../../../../src/cli/agent/agent-settings.ts';
import { masked } from '../../../../src/cli/agent/masked.ts';
import { examplesOf } from '../../../../src/cli/help.ts';
import { wholeProgram } from '../../../support/cli-examples.ts';
import { runHere } from '../../../support/cli-here.ts';

const key = 'mgk_the-key-of-these-tests';
const listed = {
  data: [
    { id: 'org/coder', display_name: 'Coder', context_window: 60_000, max_tokens: 8_000 },
    { id: 'plain' },
  ],
};
let home: string;
let server: Server;
let url: string;
let answer: (authorization: string | undefined) => { status: number; body: string };

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'agent-home-'));
  answer = (authorization) =>
    authorization === `Bearer ${key}`
      ? { status: 200, body: JSON.stringify(listed) }
      : { status: 401, body: '{}' };
  server = createServer((request, response) => {
    const { status, body } = answer(request.headers.authorization);
    response.writeHead(request.url === '/v1/models' ? status : 404).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(home, { recursive: true });
});

function run(agent: string, ...args: string[]) {
  return runHere(['agent', agent, '--gateway-url', url, '--model', 'org/coder', ...args], {
    env: { HOME: home, MODEL_GATEWAY_KEY: key },
  });
}

async function put(path: string, text: string): Promise<string> {
  const file = join(home, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

const agents = Object.keys(agentSettings);

test.each(agents)(
  '%s: settings are printed, with the URL and the model, and never the key',
  async (agent) => {
    const { code, stdout, stderr } = await run(agent);
    expect(code).toBe(0);
    expect(stdout).toContain('org/coder');
    expect(stdout).toContain(url);
    expect(stdout + stderr).not.toContain(key);
    if (agent !== 'codex') expect(stdout).toContain('60000');
  },
);

test.each(agents)('%s: --write makes the files, and a second time changes nothing', async (agent) => {
  const first = await run(agent, '--write', '--yes');
  expect(first).toMatchObject({ code: 0 });
  const files = [...first.stderr.matchAll(/^(\/.*) written$/gm)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expect(await readFile(file, 'utf8')).not.toContain(key);
  const second = await run(agent, '--write');
  expect(second.stderr).toContain('stays as it is');
  expect(second).toMatchObject({ code: 0, stdout: '' });
});

test('what a file has besides stays byte for byte, and its mode too', async () => {
  const file = await put(
    '.claude/settings.json',
    '{\n    "permissions": { "allow": ["Bash(ls:*)"] },\n    "env": {\n        "FOO": "1",\n        "ANTHROPIC_MODEL": "old"\n    }\n}\n',
  );
  await chmod(file, 0o600);
  const { code, stdout } = await run('claude', '--write', '--yes');
  expect(code).toBe(0);
  expect(stdout).toContain('-        "ANTHROPIC_MODEL": "old"');
  const text = await readFile(file, 'utf8');
  expect(text).toContain('    "permissions": {');
  expect(JSON.parse(text)).toEqual({
    permissions: { allow: ['Bash(ls:*)'] },
    env: {
      FOO: '1',
      ANTHROPIC_MODEL: 'org/coder',
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_DEFAULT_OPUS_MODEL: 'org/coder',
      ANTHROPIC_DEFAULT_SONNET_MODEL: 'org/coder',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'org/coder',
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: '60000',
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: '8000',
    },
    apiKeyHelper: 'printenv MODEL_GATEWAY_KEY',
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('comments of YAML stay', async () => {
  const file = await put(
    '.aider.conf.yml',
    '# mine\ndark-mode: true # night\nmodel: gpt-4o\n\nread: [CONVENTIONS.md]\n',
  );
  expect(await run('aider', '--write', '--yes')).toMatchObject({ code: 0 });
  const text = await readFile(file, 'utf8');
  expect(text).toContain(
    '# mine\ndark-mode: true # night\nmodel: openai/org/coder\n\nread: [CONVENTIONS.md]\n',
  );
  expect(parse(text)).toMatchObject({ 'openai-api-base': `${url}/v1`, 'weak-model': 'openai/org/coder' });
});

test('a time that Cline wrote stays', async () => {
  const providers = (settings: object) => ({
    'openai-compatible': { settings, updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual' },
  });
  const before = {
    version: 1,
    lastUsedProvider: 'x',
    modes: {},
    providers: providers({ provider: 'openai-compatible', timeout: 5 }),
  };
  const file = await put('.cline/data/settings/providers.json', JSON.stringify(before, null, 2));
  expect(await run('cline', '--write', '--yes')).toMatchObject({ code: 0 });
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
    ...before,
    lastUsedProvider: 'openai-compatible',
    providers: providers({
      provider: 'openai-compatible',
      ...{ timeout: 5, model: 'org/coder', baseUrl: `${url}/v1`, contextWindow: 60_000, maxTokens: 8_000 },
    }),
  });
});

const unsafe: [what: string, agent: string, path: string, text: string, message: string][] = [
  [
    'JSON with comments',
    'opencode',
    '.config/opencode/opencode.json',
    '{\n  // mine\n  "theme": "x"\n}\n',
    'comments',
  ],
  ['a file that wins', 'opencode', '.config/opencode/opencode.jsonc', '{}', 'takes precedence'],
  ['another type', 'claude', '.claude/settings.json', '{"env": ["A=1"]}', 'no object'],
  ['no YAML', 'aider', '.aider.conf.yml', 'a: [', 'YAML'],
  [
    'lines of the user',
    'codex',
    '.codex/model-gateway.config.toml',
    'model = "x"\nweb_search = "disabled"\n',
    'web_search',
  ],
  [
    'a credential',
    'claude',
    '.claude/settings.json',
    '{"env": {"ANTHROPIC_AUTH_TOKEN": "sk-ant-0123456789"}}',
    'env.ANTHROPIC_AUTH_TOKEN',
  ],
  [
    'a credential in headers of Cline',
    'cline',
    '.cline/data/settings/providers.json',
    '{"providers": {"openai-compatible": {"settings": {"headers": {"X-Api-Key": "sk-ant-0123456789"}}}}}',
    'settings.headers.x-api-key is a credential',
  ],
  [
    'a credential in headers of Claude Code',
    'claude',
    '.claude/settings.json',
    '{"env": {"ANTHROPIC_CUSTOM_HEADERS": "X-Team: a\\nAUTHORIZATION: Bearer sk-ant-0123456789"}}',
    'env.ANTHROPIC_CUSTOM_HEADERS.authorization',
  ],
  [
    'another helper',
    'claude',
    '.claude/settings.json',
    '{"apiKeyHelper": "echo sk-ant-0123456789"}',
    'its apiKeyHelper is a credential',
  ],
  [
    'a key in a list',
    'aider',
    '.aider.conf.yml',
    'api-key: [x=1, OpenAI=sk-ant-0123456789]\n',
    'api-key.openai',
  ],
  ['a key in a text', 'aider', '.aider.conf.yml', 'api-key: openai=sk-ant-0123456789\n', 'api-key.openai'],
  [
    'a key in a variable',
    'aider',
    '.aider.conf.yml',
    'set-env:\n  - OPENAI_API_KEY=sk-ant-0123456789\n',
    'set-env.openai_api_key',
  ],
  [
    'another key of opencode',
    'opencode',
    '.config/opencode/opencode.json',
    '{"provider": {"model-gateway": {"options": {"apiKey": "sk-ant-0123456789"}}}}',
    'options.apiKey is a credential',
  ],
  [
    'a credential in headers of opencode',
    'opencode',
    '.config/opencode/opencode.json',
    '{"provider": {"model-gateway": {"options": {"headers": {"api-key": "sk-ant-0123456789"}}}}}',
    'options.headers.api-key',
  ],
];
test.each(unsafe)(
  '%s: nothing is written, and the message says why',
  async (_, agent, path, text, message) => {
    const file = await put(path, text);
    const { code, stdout, stderr } = await run(agent, '--write', '--yes');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('sk-ant-0123456789');
    expect(await readFile(file, 'utf8')).toBe(text);
  },
);

test.each<[what: string, make: (path: string) => Promise<unknown>]>([
  ['a fifo', (path) => promisify(execFile)('mkfifo', [path])],
  ['a folder', (path) => mkdir(path)],
  ['a link to a device', (path) => symlink('/dev/zero', path)],
])('%s is not opened', async (_, make) => {
  await mkdir(join(home, '.claude'));
  await make(join(home, '.claude/settings.json'));
  const { code, stdout, stderr } = await run('claude', '--write', '--yes');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('no regular file');
});

test.each<[what: string, text: string | Buffer, message: string]>([
  ['a long number', '{"big": 9007199254740993}', 'its number 9007199254740993'],
  ['a fraction of zero', '{"a": [1.0]}', 'its number 1.0 would be written as 1'],
  ['another encoding', Buffer.from('{"a": "\xe9"}', 'latin1'), 'not UTF-8'],
])('%s: the file stays', async (_, text, message) => {
  const file = join(home, '.claude/settings.json');
  await mkdir(dirname(file));
  await writeFile(file, text);
  const { code, stderr } = await run('claude', '--write', '--yes');
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(await readFile(file)).toEqual(Buffer.from(text));
});

test.each(['', '\n'])('an empty file %j is filled', async (text) => {
  const file = await put('.claude/settings.json', text);
  expect(await run('claude', '--write', '--yes')).toMatchObject({ code: 0 });
  expect(JSON.parse(await readFile(file, 'utf8'))).toHaveProperty('env.ANTHROPIC_MODEL', 'org/coder');
});

test.each(['{env:HOME}', '{file:~/.ssh/id}'])('opencode gets no name that it replaces: %s', async (text) => {
  const names = [{ id: 'org/coder', display_name: `A ${text}` }, { id: text }];
  answer = () => ({ status: 200, body: JSON.stringify({ data: names }) });
  const { code, stdout } = await run('opencode');
  expect(code).toBe(0);
  expect(stdout).not.toContain(text);
  const refused = await run('opencode', '--model', text);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('cannot be written for opencode');
});

test('names of a gateway do not control the terminal', async () => {
  const data = [{ id: 'a\u001b[31m\u009b1m' }, { id: 'b\u202e' }];
  answer = () => ({ status: 200, body: JSON.stringify({ data }) });
  const { stderr } = await run('codex', '--model', 'far-from-each-of-them');
  expect(stderr).toContain('it lists a\\u{1b}[31m\\u{9b}1m, b\\u{202e}');
  const named = [{ id: 'org/coder', display_name: 'A\u009b31m' }];
  answer = () => ({ status: 200, body: JSON.stringify({ data: named }) });
  expect((await run('opencode')).stdout).not.toContain('\u009b');
});

test.each([
  'mgk_…',
  'short',
  `mgk_${'a'.repeat(600)}`,
  'mgk_0123456789 0123456789',
  'mgk_0123456789-0123456789\n',
])('what can be no key is refused before a request, and not printed: %j', async (text) => {
  let asked = 0;
  answer = () => {
    asked += 1;
    return { status: 200, body: JSON.stringify(listed) };
  };
  const { code, stdout, stderr } = await runHere(
    ['agent', 'codex', '--gateway-url', url, '--model', 'org/coder'],
    { env: { HOME: home, MODEL_GATEWAY_KEY: text } },
  );
  expect({ code, stdout, asked }).toEqual({ code: 2, stdout: '', asked: 0 });
  expect(stderr).toContain('MODEL_GATEWAY_KEY holds no key');
  expect(stderr).not.toContain(text.trim());
});

test.each([
  'http://me:hunter22@models.example/v1',
  'http://:hunter22@models.example/v1',
  'http://models.example/v1?key=hunter22',
  'http://models.example/v1#hunter22',
  'http://me:hunter22@models.example:99999999/v1',
  'me:hunter22@models.example',
])('a URL with a secret is refused and not printed: %s', async (text) => {
  const { code, stdout, stderr } = await run('codex', '--gateway-url', text);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('--gateway-url');
  expect(stderr).not.toContain('hunter22');
});

test('headers without a credential stay', async () => {
  const headers = { 'X-Team': 'a' };
  const file = await put(
    '.config/opencode/opencode.json',
    JSON.stringify({ provider: { 'model-gateway': { options: { headers } } } }),
  );
  expect(await run('opencode', '--write', '--yes')).toMatchObject({ code: 0 });
  expect(await readFile(file, 'utf8')).toContain('"X-Team"');
});

test('an older file of this command is replaced', async () => {
  await put('.codex/model-gateway.config.toml', 'model = "old"\nmodel_provider = "model-gateway"\n');
  const { code, stdout } = await run('codex', '--write', '--yes');
  expect(code).toBe(0);
  expect(stdout).toContain('-model = "old"\n');
});

test('without a terminal and without --yes nothing is written', async () => {
  const { code, stderr } = await run('claude', '--write');
  expect(code).toBe(2);
  expect(stderr).toContain('--yes');
  await expect(stat(join(home, '.claude'))).rejects.toThrow('ENOENT');
});

test('a name that the gateway does not list is refused with the nearest', async () => {
  const { code, stdout, stderr } = await run('codex', '--model', 'org/codr');
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toContain('lists no model "org/codr"');
  expect(stderr).toContain('did you mean "org/coder"?');
});

test.each<[what: string, status: number, body: string, code: number, message: string]>([
  ['a refused key', 401, '{}', 4, 'MODEL_GATEWAY_KEY'],
  ['an outage', 503, '', 7, 'answered 503'],
  ['another program', 200, '<html>', 7, 'no JSON'],
  ['another list', 200, '{"data":[{}]}', 7, 'no list of models'],
])('%s is told', async (_, status, body, wanted, message) => {
  answer = () => ({ status, body });
  const { code, stderr } = await run('codex');
  expect(code).toBe(wanted);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain(key);
});

test('without a key the gateway is not asked, and that is said', async () => {
  const env = { HOME: home, MODEL_GATEWAY_GATEWAY_URL: 'https://models.example' };
  const { code, stdout, stderr } = await runHere(['agent', 'codex', '--model', 'm'], { env });
  expect(code).toBe(0);
  expect(stdout).toContain('base_url = "https://models.example/v1"');
  expect(stderr).toContain('MODEL_GATEWAY_KEY is not set');
});

test('an unknown window is said, and left out', async () => {
  const { stdout, stderr } = await run('opencode', '--model', 'plain');
  expect(stderr).toContain('context window of "plain"');
  expect(stdout).not.toContain('limit');
});

test('the examples of the help run', async () => {
  const command = (await wholeProgram()).commands.find((each) => each.name() === 'agent');
  if (command === undefined) throw new Error('there is no such command');
  for (const example of examplesOf(command)) {
    const env = { HOME: home };
    const { code, stderr } = await runHere(example.split(' '), { env, input: '' });
    // Off a terminal nobody answers the question.
    expect([example, code, stderr]).toEqual([
      example,
      example.includes('--write') ? 2 : 0,
      expect.stringContaining(example.includes('--write') ? 'add --yes' : 'Then: export'),
    ]);
  }
});

test('credentials in a file are masked in what is shown', () => {
  const text =
    '"apiKey": "abcdefgh12345678",\n"OTHER_TOKEN": "Bearer abcdefgh12345678"\nopenai-api-key: abcdefgh12345678\n"max": "mgk_abcdefgh123"';
  expect(masked(text)).not.toMatch(/abcdefgh/);
  const ours = '"apiKey": "{env:MODEL_GATEWAY_KEY}", "apiKeyHelper": "printenv MODEL_GATEWAY_KEY"';
  expect(masked(ours)).toBe(ours);
  expect(masked('password: abcd\n"api_key": "x1y2"')).not.toMatch(/abcd|x1y2/);
  const numbers = 'max_tokens: 32000\n"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000",\n"tokenSource": "manual"';
  expect(masked(numbers)).toBe(numbers);
});
