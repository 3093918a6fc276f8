import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { keyWithHash, manifest, manifests, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

const key = keyWithHash();
let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await startUpstream({ models: ['m'] });
});
afterAll(() => upstream.stop());

const content = () => ({
  'all.yaml': manifests(
    manifest('UpstreamNode', 'n', { baseURL: upstream.url, manualModels: ['m'] }),
    manifest('APIKey', 'k', { hash: key.hash }),
  ),
});

describe('the process', () => {
  test.each([
    [[], ['model_not_found', 'key_mistyped']],
    [
      ['--access-log', 'all'],
      [undefined, 'model_not_found', 'key_mistyped'],
    ],
    [['--access-log', 'off'], []],
  ])('writes with %j the lines of %j, and none is lost when it ends', async (flags, errors) => {
    await using program = await startStandalone({ manifests: content(), flags });
    await program.caller(key.text).chat('m');
    await program.caller(key.text).chat('planted\n{"level":"fatal"}\u001b[2J');
    await program.caller('mgk_planted-planted-planted').chat('m');
    expect(await program.stop()).toBe(0);
    const lines = program.log().filter(({ msg }) => msg === 'Answered a request');
    expect(lines.map((line) => line['error'])).toEqual(errors);
    for (const line of lines)
      expect(line).toMatchObject({ role: 'standalone', route: '/v1/chat/completions' });
    expect(program.output()).not.toContain('mgk_planted');
    expect(program.output()).not.toContain('\u001b');
    expect(program.output()).not.toMatch(/^\{"level":"fatal"/m);
  });
});

describe('a line tells', () => {
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    gateway = await startGateway({ accessLog: 'all', logLevel: 'info' });
    await gateway.addNode('n', { spec: { models: [{ name: 'm', aliases: ['alias'] }] } });
  });
  afterAll(() => gateway.close());
  const line = async (): Promise<Record<string, unknown>> => {
    const lines = () => gateway.logged.filter((one) => one.includes('Answered a request'));
    await eventually('it is written', () => lines().length > 0, 2000, 5);
    const [last = '{}'] = lines().splice(-1);
    gateway.logged.length = 0;
    return JSON.parse(last) as Record<string, unknown>;
  };

  test('who, what, where, how long and how much, of a converted stream', async () => {
    const request = {
      model: 'alias',
      stream: true,
      max_tokens: 2048,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [{ role: 'user', content: 'planted-content' }],
    };
    const answer = await gateway.post('/messages', request);
    const text = await answer.text();
    expect(await line()).toMatchObject({
      level: 'info',
      requestId: answer.headers.get('x-request-id'),
      status: 200,
      key: 'default/key-1',
      model: 'alias',
      nodeModel: 'm',
      node: 'default/n',
      attempts: 1,
      firstContentMs: expect.any(Number),
      bytesIn: JSON.stringify(request).length,
      bytesOut: Buffer.byteLength(text),
      inputTokens: expect.any(Number),
      conversion: 'messages->chat',
      dropped: [expect.stringContaining('thinking')],
    });
  });

  test('that the caller left', async () => {
    const leave = new AbortController();
    const asked = gateway.post('/chat/completions', { model: 'm', stream: true }, { signal: leave.signal });
    const answer = await asked;
    await answer.body?.getReader().read();
    leave.abort();
    const said = await line();
    expect(said['status'] === 499 ? said : { callerGone: true }).toMatchObject({ callerGone: true });
    expect(JSON.stringify(said)).not.toContain('planted-content');
  });
});
