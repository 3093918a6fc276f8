import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

const key = keyWithHash();
const master = keyWithHash('master');
let upstream: ScriptedUpstream;
let standalone: Standalone;

beforeAll(async () => {
  upstream = await startUpstream({ models: ['m'] });
  standalone = await startStandalone({
    manifests: {
      'all.yaml': manifests(
        manifest('UpstreamNode', 'n', { baseURL: upstream.url, manualModels: ['m'] }),
        manifest('APIKey', 'k', { hash: key.hash }),
        manifest('MasterKey', 'mk', { hash: master.hash }),
      ),
    },
  });
});
afterAll(async () => {
  await standalone[Symbol.asyncDispose]();
  await upstream.stop();
});

test.each([
  ['/livez', /^ok\n$/],
  ['/readyz', /^ok\n$/],
  ['/metrics', /^modelgateway_build_info\{version="[^"]+",role="standalone"\} 1$/m],
])('%s answers GET and HEAD, and no other method', async (path, text) => {
  const got = await fetch(standalone.admin + path);
  expect(got.status).toBe(200);
  expect(await got.text()).toMatch(text);
  const head = await fetch(standalone.admin + path, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    expect((await fetch(standalone.admin + path, { method })).status, method).toBe(405);
  }
});

test('the admin port serves nothing else, and the traffic port does not serve its paths', async () => {
  for (const path of [
    '/',
    '/v1/models',
    '/v1/keys',
    '/healthz',
    '/livez/',
    '/metrics/x',
    '/debug/pprof',
    '/..%2fmetrics',
  ]) {
    const answer = await fetch(standalone.admin + path, {
      headers: { authorization: `Bearer ${key.text}` },
    });
    expect([path, answer.status]).toEqual([path, 404]);
  }
  for (const path of ['/livez', '/readyz', '/metrics']) {
    expect((await fetch(new URL(path, standalone.baseURL))).status).toBe(404);
  }
});

test('what callers send does not become a label', async () => {
  const caller = standalone.caller(key.text);
  const hostile = Array.from(
    { length: 150 },
    (_, index) => `evil-${index}"} 1\n# HELP \\ ${'x'.repeat(index)}`,
  );
  for (const name of hostile) {
    await caller.chat(name);
    await caller.send('GET', `/models/${encodeURIComponent(name)}`);
  }
  for (let index = 0; index < 50; index += 1) {
    await caller.send('GET', `/evil-path-${index}`);
    await caller.send('POST', `/keys/evil-id-${index}`);
    await standalone.caller(master.text).send('GET', `/keys/evil-id-${index}`);
    await standalone.caller(`evil-key-${index}`).chat('m');
  }
  expect((await caller.chat('m')).status).toBe(200);
  const text = await (await fetch(`${standalone.admin}/metrics`)).text();
  expect(text).not.toContain('evil');
  const lines = text.split('\n').filter((line) => line.startsWith('modelgateway_requests_total'));
  expect(lines.length).toBeLessThan(15);
  const labels = 'route="/v1/chat/completions",format="chat",model="m",node="default/n",code="200"';
  expect(lines).toContain(`modelgateway_requests_total{${labels}} 1`);
  expect(lines.find((line) => line.includes('model="other"') && line.includes('code="404"'))).toBeDefined();
  // Every line is one that a scraper can read.
  for (const line of text.split('\n')) {
    expect(line).toMatch(/^(|#.*|[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="([^"\\]|\\.)*",?)*\})? \S+)$/);
  }
});

test('/readyz and /livez do not depend on the nodes', async () => {
  upstream.pause();
  expect((await fetch(`${standalone.admin}/readyz`)).status).toBe(200);
  expect((await fetch(`${standalone.admin}/livez`)).status).toBe(200);
  await upstream.resume();
});
