import type { Browser, Page } from 'playwright-core';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { runCli } from '../support/cli.ts';
import { type Program, startProgram } from '../support/program.ts';
import { keyWithHash, manifest } from '../support/standalone.ts';
import { tlsFile, tlsText } from '../support/tls-file.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, startBrowser } from './browser.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

const pair = ['--tls-cert', tlsFile('server1.crt'), '--tls-key', tlsFile('server1.key')];
const ca = tlsText('ca1.crt');
const caller = keyWithHash();

let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;

beforeAll(async () => {
  [browser, upstream] = await Promise.all([startBrowser(), startUpstream({ models: ['alpha'] })]);
  standalone = await startWithConsole({
    flags: pair,
    manifests: {
      'one.yaml': manifest('UpstreamNode', 'one', { baseURL: upstream.url }),
      'key.yaml': manifest('APIKey', 'app', { hash: caller.hash }),
    },
  });
});

afterAll(async () => {
  await standalone?.[Symbol.asyncDispose]();
  await Promise.all([browser?.close(), upstream?.stop()]);
});

/** `console` on the folder of the standalone process. */
function consoleArgs(...flags: readonly string[]): string[] {
  const { manifests, data } = standalone.folders;
  return ['console', '--manifests', manifests, '--data', data, '--no-open', ...flags];
}

const startConsole = (...flags: readonly string[]): Program => startProgram({ args: consoleArgs(...flags) });

async function addressOf(program: Program): Promise<string> {
  const address = (): string | undefined => /^http\S+$/m.exec(program.stdout())?.[0];
  await program.until('the console serves', () => address() !== undefined);
  return address() ?? '';
}

/** The node that answers when a model is tried, or why none does. */
async function tried(page: Page): Promise<string> {
  await page.getByRole('link', { name: 'Try it' }).click();
  await page.getByRole('textbox', { name: 'API key' }).fill(caller.text);
  await page.getByRole('combobox', { name: 'Model', exact: true }).fill('alpha');
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('dl.facts').getByText('ms').last().waitFor();
  const node = await page.locator('dl.facts').getByText('default/one').count();
  return node > 0 ? 'default/one' : ((await page.locator('.turn.failure p.wrong').textContent()) ?? '');
}

test('an address that others reach is refused without TLS and without a name, saying what it means', async () => {
  const refused = [
    [['--listen', '0.0.0.0:0'], 'who would act with your rights', '--tls-cert and --tls-key'],
    [['--listen', ':0'], 'who would act with your rights'],
    [['--listen', '0.0.0.0:0', ...pair], '--host-name'],
    [['--listen', '0.0.0.0:0', '--tls-cert', tlsFile('server1.crt')], 'go together'],
    [
      ['--listen', '0.0.0.0:0', '--tls-cert', tlsFile('server1.crt'), '--tls-key', tlsFile('server2.key')],
      'is not the one of',
    ],
    [['--gateway-ca', tlsFile('nothing')], '--gateway-ca', 'cannot be read'],
    [['--gateway-ca', tlsFile('server1.key')], 'does not hold a certificate'],
  ] as const;
  await Promise.all(
    refused.map(async ([flags, ...words]) => {
      const { code, stdout, stderr } = await runCli(consoleArgs(...flags));
      expect(code, flags.join(' ')).toBe(exitCodes.usage);
      for (const word of words) expect(stderr).toContain(word);
      expect(stdout).toBe('');
    }),
  );
});

test('with TLS and a name it serves on every address: by HTTPS alone, to whoever holds the token, by that name', async () => {
  await using program = startConsole('--listen', '0.0.0.0:0', '--host-name', 'localhost', ...pair);
  const address = await addressOf(program);
  const { origin, port } = new URL(address);
  expect(origin).toBe(`https://localhost:${port}`);
  expect(program.output()).toContain('a person who opens the address acts with your permissions');

  const dispatcher = new Agent({ connect: { ca, servername: 'localhost' } });
  const ask = async (url: string, headers: Record<string, string> = {}): Promise<number> => {
    const { statusCode, body } = await request(url, { dispatcher, headers });
    await body.dump();
    return statusCode;
  };
  expect(await ask(`${origin}/nodes`)).toBe(401);
  expect(await ask(`${origin}/api/place`)).toBe(401);
  // The address is bound and in the certificate, but is no name of this console.
  expect(await ask(`https://127.0.0.1:${port}/nodes`)).toBe(403);
  await expect(ask(`http://localhost:${port}/nodes`)).rejects.toThrow();
  await dispatcher.close();

  await using person = await openConsole(browser, address, { ignoreHTTPSErrors: true });
  const { page, context } = person;
  await page.getByRole('link', { name: 'one', exact: true }).waitFor();
  await page.getByRole('checkbox', { name: 'Select one' }).check();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('Disabled one.').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Enabled one.').waitFor();
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: 'Strict' });
  expect(person.complaints).toEqual([]);
});

test('a gateway of a private authority is tried with --gateway-ca, and by its own console without', async () => {
  const gatewayURL = ['--gateway-url', standalone.baseURL.replace('http:', 'https:')];
  for (const [flags, said] of [
    [[], /authority that is not trusted here.*--gateway-ca FILE/],
    [['--gateway-ca', tlsFile('ca2.crt')], /authority that is not trusted here/],
    [['--gateway-ca', tlsFile('ca1.crt')], /^default\/one$/],
  ] as const) {
    await using program = startConsole(...gatewayURL, ...flags);
    await using person = await openConsole(browser, await addressOf(program));
    expect(await tried(person.page)).toMatch(said);
  }
  await using person = await openConsole(browser, await standalone.newAddress());
  expect(await tried(person.page)).toBe('default/one');
  expect(person.complaints).toEqual([]);
});
