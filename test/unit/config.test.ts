import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config.ts';
import { type Command, flags, roleExamples } from '../../src/roles/flags.ts';
import { expectScreen } from '../support/screen.ts';

const standalone = ['standalone', '--manifests', 'm', '--data', 'd'];

test('standalone has its defaults', () => {
  expect(readConfig(standalone, {})).toMatchObject({
    command: 'standalone',
    homeNamespace: 'default',
    adminListen: { host: '127.0.0.1', port: 9090 },
    log: { level: 'info', format: 'json' },
    traffic: {
      listen: { host: '127.0.0.1', port: 8080 },
      drainSeconds: 30,
      limits: { maxBodyBytes: 33_554_432, maxAttempts: 3 },
    },
    gatewayURL: undefined,
  });
});

test('a gateway in a cluster listens on every interface and drains for long', () => {
  expect(readConfig(['gateway'], { POD_NAMESPACE: 'platform', POD_NAME: 'gw-1' })).toMatchObject({
    namespaces: undefined,
    homeNamespace: 'platform',
    instance: 'gw-1',
    allowLoopbackUpstreams: false,
    adminListen: { host: '::', port: 9090 },
    traffic: { listen: { host: '::', port: 8080 }, drainSeconds: 240 },
  });
});

test('the console is served unless the switch says otherwise', () => {
  expect(readConfig(standalone, {})).toMatchObject({ console: true });
  expect(readConfig([...standalone, '--no-console'], {})).toMatchObject({ console: false });
  expect(readConfig(standalone, { MODEL_GATEWAY_NO_CONSOLE: 'true' })).toMatchObject({ console: false });
});

test('a base URL for callers gets its version segment', () => {
  expect(readConfig(['controller'], { POD_NAMESPACE: 'platform' })).toMatchObject({
    gatewayURL: undefined,
  });
  expect(readConfig(['controller', '--gateway-url', 'https://models.example.com'], {})).toMatchObject({
    gatewayURL: 'https://models.example.com/v1',
  });
  expect(readConfig(['controller', '--gateway-url', 'https://x.example/llm/v1/'], {})).toMatchObject({
    gatewayURL: 'https://x.example/llm/v1',
  });
});

test('namespaces: repeated flags, a list in the variable, or all', () => {
  const namespaces = (args: string[], env = {}) => readConfig(['gateway', ...args], env);
  expect(namespaces(['--namespace', 'a', '--namespace', 'b'])).toMatchObject({ namespaces: ['a', 'b'] });
  expect(namespaces([], { MODEL_GATEWAY_NAMESPACE: 'a, b' })).toMatchObject({ namespaces: ['a', 'b'] });
  expect(namespaces(['--all-namespaces'])).toMatchObject({ namespaces: 'all' });
  expect(namespaces([], { MODEL_GATEWAY_ALL_NAMESPACES: 'true' })).toMatchObject({ namespaces: 'all' });
  expect(namespaces([], { MODEL_GATEWAY_ALL_NAMESPACES: 'false' })).toMatchObject({
    namespaces: undefined,
  });
});

test('a flag wins over its variable, an empty variable counts as absent', () => {
  const env = { MODEL_GATEWAY_LISTEN: ':1', MODEL_GATEWAY_LOG_LEVEL: '' };
  expect(readConfig([...standalone, '--listen', '[::1]:2'], env)).toMatchObject({
    traffic: { listen: { host: '::1', port: 2 } },
    log: { level: 'info' },
  });
  expect(readConfig(standalone, env)).toMatchObject({ traffic: { listen: { host: '::', port: 1 } } });
});

test('without a command it is the quick start', () => {
  expect(readConfig([], {})).toMatchObject({ command: 'start', listenGiven: false, log: { format: 'text' } });
  expect(readConfig(['--upstream', 'http://127.0.0.1:11434/v1'], {})).toMatchObject({
    command: 'start',
    upstream: 'http://127.0.0.1:11434/v1',
  });
});

const tuning = readFileSync('docs/operations.md', 'utf8');

const refused: [string, string[], Record<string, string>, string][] = [
  [
    'unknown flag',
    ['gateway', '--lissten', 'x'],
    {},
    "unknown option '--lissten' (Did you mean --listen?). See model-gateway gateway --help.",
  ],
  ['a flag of another command', ['gateway', '--manifests', 'x'], {}, "unknown option '--manifests'"],
  [
    'no value before the next flag',
    ['standalone', '--manifests', '--data', 'd'],
    {},
    "option '--manifests <DIR>' argument '--data' is invalid. Give the flag a value before the next one.",
  ],
  ['no value at the end', ['gateway', '--listen'], {}, "option '--listen <HOST:PORT>' argument missing"],
  ['an argument', ['gateway', 'here'], {}, "too many arguments for 'gateway'"],
  ['missing folder', ['standalone', '--data', 'd'], {}, '--manifests is missing'],
  ['bad address', [...standalone, '--listen', '8080'], {}, '--listen: "8080" must be HOST:PORT with'],
  ['bad port', [...standalone, '--listen', ':70000'], {}, 'HOST:PORT with a port from 0 to 65535'],
  [
    'bad address in a variable',
    standalone,
    { MODEL_GATEWAY_ADMIN_LISTEN: 'x' },
    'MODEL_GATEWAY_ADMIN_LISTEN: "x" must be',
  ],
  [
    'an empty path',
    ['standalone', '--manifests', '', '--data', 'd'],
    {},
    '--manifests: "" must not be empty; give the path of a folder.',
  ],
  ['an empty name', ['seal', '--name', ''], {}, '--name: "" must not be empty; give a name.'],
  ['bad number', [...standalone, '--drain-seconds', '-1'], {}, '--drain-seconds'],
  ['too large', [...standalone, '--max-attempts', '11'], {}, 'must be from 1 to 10'],
  ['bad switch', ['gateway'], { MODEL_GATEWAY_ALL_NAMESPACES: 'yes' }, 'must be true or false'],
  ['both scopes', ['gateway', '--namespace', 'a', '--all-namespaces'], {}, 'exclude each other'],
  ['bad namespace', ['gateway', '--namespace', 'A_b'], {}, 'must be a namespace name'],
  [
    'user in a URL',
    ['controller', '--gateway-url', 'http://u:p@x/v1'],
    {},
    'without user, query or fragment',
  ],
  ['bad level', [...standalone, '--log-level', 'loud'], {}, '--log-level: "loud"'],
  [
    'sum below one body',
    [...standalone, '--max-buffered-bytes', '1024'],
    {},
    'at least four thirds of --max-body-bytes',
  ],
];
test.each(refused)('refuses: %s', (_, args, env, message) => {
  expect(() => readConfig(args, env)).toThrow(ConfigError);
  expect(() => readConfig(args, env)).toThrow(message);
});

test.each([
  [['controller', '--gateway-url', 'http://u:sekret@x/v1'], {}],
  [['start'], { MODEL_GATEWAY_UPSTREAM: 'https://u:sekret@x/v1' }],
])('does not repeat the password of a URL that it refuses: %j %j', (args, env) => {
  expect(() => readConfig(args, env)).toThrow('://…@x/v1');
  expect(() => readConfig(args, env)).not.toThrow('sekret');
});

test('of a flag that is given twice the last value counts, and it is reported', () => {
  expect(readConfig([...standalone, '--listen', ':1', '--listen', ':2'], {})).toMatchObject({
    traffic: { listen: { port: 2 } },
    repeated: ['--listen'],
  });
  const namespaces = ['gateway', '--namespace', 'a', '--namespace', 'b', '--listen', ':1'];
  expect(readConfig(namespaces, {})).toMatchObject({ repeated: [] });
});

function helpOf(args: string[], calledAs?: string): string {
  const config = readConfig(args, {}, calledAs);
  if (config.command !== 'help') throw new Error('no help was asked for');
  return config.text;
}

test.each(Object.entries(roleExamples))('help of %s', (name, examples) => {
  const command = name as Command;
  const text = helpOf([command, '--help']);
  for (const [flag, { commands }] of Object.entries(flags)) {
    // Flags for tuning are in a table of their own, because help fits a screen.
    if (tuning.includes(`| \`--${flag}\` |`)) continue;
    const named = new RegExp(`^ .*--${flag}(?![-a-z])`, 'm').test(text.split('\n\n')[0] ?? '');
    expect([flag, named]).toEqual([flag, (commands as readonly string[]).includes(command)]);
  }
  expectScreen(text);
  expect(text.endsWith(examples.map((example) => `  model-gateway ${example}\n`).join(''))).toBe(true);
  for (const example of examples) {
    const [args = ''] = example.split(' < ');
    expect(readConfig(args.split(' '), {})).toMatchObject({ command });
  }
});

test('the name that it was called by stands in the texts', () => {
  const text = helpOf(['seal', '--help'], 'kubectl modelgateway');
  expect(text).toMatch(/^Usage: kubectl modelgateway seal .+\n {2}kubectl modelgateway seal --name a .+\n$/s);
  expectScreen(text);
  expect(() => readConfig(['seal', '--nane', 'a'], {}, 'kubectl modelgateway')).toThrow(
    'See kubectl modelgateway seal --help.',
  );
});

test('help of the quick start is there without its name', () => {
  expect(helpOf(['--upstream', 'x', '-h'])).toMatch(/^Usage: model-gateway start /);
});
