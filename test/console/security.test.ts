import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConsoleFailure } from '../../src/console/answer-error.ts';
import { startConsoleHere } from '../support/console-here.ts';
import { askRaw } from '../support/raw-target.ts';
import { keyWithHash, manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, startBrowser } from './browser.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

const script = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
const nodeKey = 'sk-planted-credential-of-the-node';
const caller = keyWithHash();

let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;

beforeAll(async () => {
  [browser, upstream] = await Promise.all([startBrowser(), startUpstream({ models: ['plain', script] })]);
  standalone = await startWithConsole({
    manifests: {
      'nodes.yaml': manifest('UpstreamNode', 'evil', {
        baseURL: upstream.url,
        displayName: script,
        apiKeySecretRef: { name: 'evil' },
      }),
      'broken.yaml': manifest('UpstreamNode', 'broken', {
        baseURL: 'http://127.0.0.1:1/<b>',
        displayName: 'broken',
      }),
      'secret.yaml': `apiVersion: v1\nkind: Secret\nmetadata: {name: evil}\nstringData: {apiKey: ${nodeKey}}\n`,
      'key.yaml': manifest('APIKey', 'app', { hash: caller.hash, hint: '<b>hint</b>', displayName: script }),
    },
  });
});

afterAll(async () => {
  await standalone[Symbol.asyncDispose]();
  await Promise.all([browser.close(), upstream.stop()]);
});

/** Signs in without a browser; the cookie as a request header. */
async function signIn(): Promise<{ origin: string; host: string; cookie: string; token: string }> {
  const address = await standalone.newAddress();
  const { origin, host, searchParams } = new URL(address);
  const { headers, body } = await request(address);
  await body.dump();
  const [cookie = ''] = String(headers['set-cookie']).split(';');
  return { origin, host, cookie, token: searchParams.get('token') ?? '' };
}

test('an address opens the console once, by a cookie that scripts and other sites cannot read', async () => {
  const address = await standalone.newAddress();
  const first = await request(address);
  expect(first.statusCode).toBe(200);
  const cookie = String(first.headers['set-cookie']);
  expect(cookie).toMatch(/^model-gateway-console-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  expect((await first.body.text()).includes('token')).toBe(false);
  const second = await request(address);
  expect(second.statusCode).toBe(401);
  expect(await second.body.text()).toContain('good for one browser');
  const wrong = await request(`${new URL(address).origin}/?token=${'A'.repeat(43)}`);
  expect(wrong.statusCode).toBe(401);
  await wrong.body.dump();
});

test('nothing is returned without the cookie, under another host name, or to another site', async () => {
  const { origin, host, cookie } = await signIn();
  const ask = async (
    path: string,
    headers: Record<string, string>,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE' = 'GET',
  ): Promise<number> => {
    const body = method === 'GET' ? undefined : '{"wishes":{}}';
    const type: Record<string, string> = method === 'GET' ? {} : { 'content-type': 'application/json' };
    const answer = await request(`${origin}${path}`, {
      method,
      headers: { ...type, ...headers },
      body: body ?? null,
    });
    await answer.body.dump();
    return answer.statusCode;
  };
  const node = '/api/resources/UpstreamNode/default/evil';
  expect(await ask(node, { cookie })).toBe(200);
  expect(await ask(node, {})).toBe(401);
  expect(await ask('/nodes', {})).toBe(401);
  expect(await ask(node, { cookie: cookie.slice(0, -1) })).toBe(401);
  expect(await ask(node, { cookie, host: 'evil.example.com' })).toBe(403);
  expect(await ask(node, { cookie, host: `evil.example.com:${new URL(origin).port}` })).toBe(403);
  expect(await ask(node, { cookie, origin: 'https://evil.example.com' })).toBe(403);
  for (const method of ['POST', 'PUT', 'DELETE'] as const) {
    expect(await ask(node, { cookie }, method), `${method} without an origin`).toBe(403);
    expect(await ask(node, { cookie, origin: 'http://evil.example.com' }, method)).toBe(403);
    expect(
      await ask(node, { cookie, origin: `http://${host}`, 'sec-fetch-site': 'cross-site' }, method),
    ).toBe(403);
  }
  expect(await ask(node, { cookie, origin: `http://${host}` }, 'POST')).toBe(200);
});

describe('an address spelled in another way', () => {
  const spellings = (origin: string, path: string): string[] => [
    path,
    `/%61${path.slice(2)}`,
    path.replace('/api', '/ap%69'),
    path.replace('/api', '/%61%70%69'),
    `${origin}${path}`,
    `${origin}/%61${path.slice(2)}`,
    `http://elsewhere.example${path}`,
  ];
  const routes = [
    ['GET', '/api/place'],
    ['GET', '/api/live'],
    ['GET', '/api/models'],
    ['GET', '/api/resources/UpstreamNode/default/evil'],
    ['PUT', '/api/resources/APIKey/default/stolen'],
    ['POST', '/api/resources/UpstreamNode/default/evil'],
    ['DELETE', '/api/resources/UpstreamNode/default/evil'],
    ['POST', '/api/try'],
    ['POST', '/api/acted'],
  ] as const;
  const asked = (origin: string) => ({
    headers: { origin, 'content-type': 'application/json' },
    body: '{"wishes":{"newKey":true}}',
  });

  test('asks for a session', async () => {
    const { origin } = await signIn();
    for (const [method, path] of routes) {
      for (const target of spellings(origin, path)) {
        const { status, body } = await askRaw(origin, method, target, asked(origin));
        expect(status, `${method} ${target}`).toBe(401);
        expect(body, target).toContain('SignedOut');
      }
    }
    expect(await standalone.manifest('nodes.yaml')).toContain('evil');
  });

  test('--read-only refuses every spelling, and allows posts that change nothing', async () => {
    await using reading = await startConsoleHere(
      { 'one.yaml': manifest('UpstreamNode', 'one', { baseURL: 'http://127.0.0.1:1/v1' }) },
      { readOnly: true },
    );
    const address = reading.newAddress();
    const { origin, pathname, search } = new URL(address);
    const { headers } = await askRaw(origin, 'GET', pathname + search);
    const [cookie = ''] = String(headers['set-cookie']).split(';');
    const given = asked(origin);
    const ask = (method: string, target: string) =>
      askRaw(origin, method, target, { ...given, headers: { ...given.headers, cookie } });
    for (const method of ['PUT', 'POST', 'DELETE']) {
      for (const target of spellings(origin, '/api/resources/UpstreamNode/default/one')) {
        const { status, body } = await ask(method, target);
        expect(status, `${method} ${target}`).toBe(403);
        expect(body).toContain('--read-only');
      }
    }
    for (const target of spellings(origin, '/api/acted')) {
      expect((await ask('POST', target)).status, target).toBe(200);
    }
    expect((await ask('GET', '/api/resources/UpstreamNode/default/one')).status).toBe(200);
  });
});

test('a body that is nested too deeply is refused, whatever it is for', async () => {
  const { origin, cookie } = await signIn();
  const deep = `{"path":"messages","key":"k","body":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
  for (const path of ['/api/try', '/api/resources/UpstreamNode/default/evil']) {
    const headers = { origin, cookie, 'content-type': 'application/json' };
    const { status, body } = await askRaw(origin, 'POST', path, { headers, body: deep });
    expect(status, path).toBe(400);
    expect(body).toContain('nested more than 512 levels deep');
  }
});

test('HEAD does not use up an address, and gets an answer', async () => {
  const address = await standalone.newAddress();
  const { origin, pathname, search } = new URL(address);
  expect((await askRaw(origin, 'HEAD', pathname + search)).status).toBe(401);
  const opened = await askRaw(origin, 'GET', pathname + search);
  expect(opened.status).toBe(200);
  const [cookie = ''] = String(opened.headers['set-cookie']).split(';');
  expect((await askRaw(origin, 'HEAD', '/nodes', { headers: { cookie } })).status).toBe(200);
  expect((await askRaw(origin, 'HEAD', '/api/live', { headers: { cookie } })).status).toBe(404);
});

test('an address that is opened twice signs in the same browser, and no other', async () => {
  const address = await standalone.newAddress();
  await using person = await openConsole(browser, address);
  await person.page.getByRole('link', { name: script, exact: true }).waitFor();
  await person.page.goto(address);
  await person.page.getByRole('link', { name: script, exact: true }).waitFor();
  // A click on another site, such as a chat: the browser keeps the cookie back.
  await person.page.goto('about:blank');
  await person.page.setContent(`<a href="${address}">console</a>`);
  await person.page.getByText('console').click();
  await person.page.getByRole('link', { name: script, exact: true }).waitFor();
  await using other = await openConsole(browser, address);
  await other.page.waitForURL('**/nodes');
  await other.page.getByRole('heading', { name: 'Signed out' }).waitFor();
});

test('every answer forbids inline scripts, framing and guessing of types', async () => {
  const { origin, cookie } = await signIn();
  for (const path of ['/nodes', '/page/style.css', '/api/place', '/api/nothing', '/page/nothing']) {
    const { headers, body } = await request(`${origin}${path}`, { headers: { cookie } });
    await body.dump();
    expect(headers['content-security-policy'], path).toContain("default-src 'none'; script-src 'self'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
  }
});

test('text from manifests, upstreams and models is text on every page, and no credential is there', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  const bodies: string[] = [];
  page.on('response', (response) => {
    if (!response.url().endsWith('/api/live'))
      void response.text().then(
        (text) => bodies.push(text),
        () => {},
      );
  });
  const pages = [
    '/nodes',
    '/nodes/default/evil',
    '/nodes/default/evil/models',
    '/nodes/default/broken',
    '/keys',
    '/keys/default/app',
  ];
  for (const path of [...pages, `/routing?model=${encodeURIComponent(script)}`]) {
    await person.visit(path);
    await page.locator('h1').waitFor();
    await page.waitForTimeout(150);
    expect(await page.evaluate('window.hacked'), path).toBeUndefined();
    expect(await page.locator('#app script, #app img, #app b').count(), path).toBe(0);
    bodies.push(await page.content());
  }
  await person.visit('/try?model=plain');
  await page.getByRole('textbox', { name: 'API key' }).fill(caller.text);
  // What a model says, streamed and whole, and what a node says instead.
  const said = {
    choices: [{ index: 0, message: { role: 'assistant', content: script }, finish_reason: 'stop' }],
  };
  const streamed = { choices: [{ index: 0, delta: { content: script } }] };
  const events = { 'content-type': 'text/event-stream' };
  for (const [status, headers, body] of [
    [200, events, `data: ${JSON.stringify(streamed)}\n\ndata: [DONE]\n\n`],
    [200, { 'content-type': 'application/json' }, JSON.stringify(said)],
    [200, { 'content-type': 'text/html' }, script],
    [
      400,
      { 'content-type': 'application/json' },
      JSON.stringify({ error: { message: script, type: script, code: script } }),
    ],
    [400, { 'content-type': 'text/html' }, script],
  ] as const) {
    upstream.respondWith('/chat/completions', { kind: 'answer', status, headers, body });
    await page.getByRole('button', { name: 'Start over' }).click({ force: true });
    await page.getByRole('textbox', { name: 'Message' }).fill(script);
    await page.getByRole('button', { name: 'Send' }).click();
    await page
      .locator('dl.facts')
      .getByText(/^(200|400|502)$/)
      .waitFor();
    await page.getByText('Raw answer').click();
    await page.waitForTimeout(100);
    expect(await page.evaluate('window.hacked'), `${status} ${headers['content-type']}`).toBeUndefined();
    expect(await page.locator('#app script, #app img, #app b').count()).toBe(0);
  }
  expect(bodies.join('\n')).not.toContain(nodeKey);
  const kept = JSON.stringify(
    await page.evaluate(
      '({ ...localStorage, ...sessionStorage, cookie: document.cookie, url: location.href })',
    ),
  );
  expect(kept).not.toContain(caller.text);
  expect(kept).not.toContain('console');
  expect(standalone.output()).not.toContain(caller.text);
  expect(standalone.output()).not.toContain('token=');
  const files = await readdir(standalone.folders.data, { recursive: true, withFileTypes: true });
  for (const file of files.filter((each) => each.isFile())) {
    const text = await readFile(join(file.parentPath, file.name), 'utf8');
    expect(text.includes(caller.text), file.name).toBe(false);
  }
});

test('--no-console serves none, and an admin address that others reach serves none either', async () => {
  await using without = await startWithConsole({ flags: ['--no-console'] });
  await using open = await startWithConsole({ flags: ['--admin-listen', '0.0.0.0:0'] });
  await open.until('it says why', () =>
    open.log().some(({ msg }) => msg.startsWith('Not serving the console')),
  );
  for (const each of [without, open]) {
    expect(await readdir(each.folders.data)).not.toContain('console-address');
    expect(each.log().some(({ msg }) => msg === 'Serving the console')).toBe(false);
  }
});

test('an unexpected failure is reported with its place in the code, and without content of the request', async () => {
  const failures: ConsoleFailure[] = [];
  const secret = 'sk-typed-by-a-person';
  await using console = await startConsoleHere(
    {},
    {
      explain: async ({ model }) => {
        throw Object.assign(new SyntaxError(`Unexpected token in\n    at ${model}\n`), { code: 'ERR_SOME' });
      },
      onFailure: (failure) => failures.push(failure),
    },
  );
  const { origin, pathname, search } = new URL(console.newAddress());
  const { headers } = await askRaw(origin, 'GET', pathname + search);
  const [cookie = ''] = String(headers['set-cookie']).split(';');
  const asked = `/api/route?format=chat&model=${secret}`;
  const { status, body } = await askRaw(origin, 'GET', asked, { headers: { cookie } });
  expect(status).toBe(500);
  expect(body).toContain('its log says why');
  expect(failures).toMatchObject([{ method: 'GET', route: '/api/route', error: 'SyntaxError ERR_SOME' }]);
  expect(failures[0]?.at[0]).toMatch(/security\.test\.ts:\d+:\d+/);
  expect(JSON.stringify(failures)).not.toContain(secret);
});
