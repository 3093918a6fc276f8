import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError } from '../../../src/kube/api-error.ts';
import { connectKube } from '../../../src/kube/connect.ts';
import { tlsFile, tlsText } from '../../support/tls-file.ts';
import { fakeClock } from './fake-clock.ts';
import { failure, json, openWatch, type ScriptedServer, scriptedServer } from './scripted-server.ts';
import { until } from './until.ts';

let server: ScriptedServer;
beforeEach(async () => {
  server = await scriptedServer();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

const GET = { method: 'GET', path: '/api/v1/pods' } as const;

async function fault(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error(`not an ApiError: ${error}`);
  return error;
}

describe('one call', () => {
  test('carries the credential, the agent name, the query and the body', async () => {
    server.script.push(json({ ok: 1 }));
    const seen: unknown[] = [];
    const client = server.client({ onResponse: (response) => seen.push(response) });
    const answer = await client.request({
      method: 'PATCH',
      path: '/apis/x/v1/things/a',
      query: { force: true, fieldManager: 'me', left: undefined },
      body: { a: 'ä' },
      contentType: 'application/apply-patch+yaml',
    });
    expect(answer).toEqual({ ok: 1 });
    const call = server.calls[0];
    expect(call?.headers).toMatchObject({
      authorization: 'Bearer secret-token',
      'user-agent': 'test/1',
      'content-type': 'application/apply-patch+yaml',
      accept: 'application/json',
    });
    expect(String(call?.query)).toBe('force=true&fieldManager=me');
    expect(call?.body).toEqual({ a: 'ä' });
    expect(seen).toEqual([{ code: '200', method: 'PATCH', host: `127.0.0.1:${server.port}` }]);
    expect(client.namespace()).toBe('team');
  });

  test('keeps a path in the server address', async () => {
    server.script.push(json({}));
    const kubeconfig = server.kubeconfig({ token: 't' }, { server: `${server.url}/clusters/one/` });
    await server.client({ kubeconfig }).request(GET);
    expect(server.calls[0]?.path).toBe('/clusters/one/api/v1/pods');
  });

  test('turns a Status into an ApiError and an error page too', async () => {
    const client = server.client();
    server.script.push(failure(409, 'Conflict', { 'retry-after': '3' }), (_, response) =>
      response.writeHead(502).end('<html>'),
    );
    expect(await fault(client.request({ ...GET, method: 'PUT', body: {} }))).toMatchObject({
      status: 409,
      reason: 'Conflict',
      message: 'test says Conflict',
      retryAfterMs: 3000,
    });
    expect(await fault(client.request(GET))).toMatchObject({ status: 502, reason: 'HTTP502' });
  });

  test('bounds the answer', async () => {
    server.script.push(json({ text: 'x'.repeat(2000) }));
    expect(await fault(server.client({ responseBytes: 1000 }).request(GET))).toMatchObject({
      status: 0,
      reason: 'ResponseTooLarge',
    });
  });

  test('names broken JSON', async () => {
    server.script.push((_, response) => response.end('{"half'));
    expect(await fault(server.client().request(GET))).toMatchObject({ status: 0, reason: 'InvalidResponse' });
  });

  test('gives up after its own time limit', async () => {
    server.script.push(() => {});
    expect(await fault(server.client().request({ ...GET, timeoutMs: 50 }))).toMatchObject({
      status: 0,
      reason: 'Timeout',
    });
  });

  test('rejects with the reason of the signal', async () => {
    server.script.push(() => {});
    const stop = new AbortController();
    const call = server.client().request({ ...GET, signal: stop.signal });
    await until(() => server.calls.length, 'the request arrived');
    stop.abort('enough');
    await expect(call).rejects.toBe('enough');
  });

  test('names a server that is not there', async () => {
    const seen: { code: string }[] = [];
    const kubeconfig = server.kubeconfig({ token: 't' }, { server: 'https://127.0.0.1:1' });
    const client = server.client({ kubeconfig, onResponse: (response) => seen.push(response) });
    expect(await fault(client.request({ ...GET, method: 'POST' }))).toMatchObject({
      status: 0,
      reason: 'Unreachable',
    });
    expect(seen.map((response) => response.code)).toEqual(['<error>']);
  });
});

describe('retries', () => {
  test.each([
    ['GET', 429, true],
    ['POST', 429, true],
    ['GET', 503, true],
    ['PUT', 503, true],
    ['POST', 503, false],
    ['GET', 500, false],
  ] as const)('%s after %i with Retry-After: %s', async (method, status, again) => {
    server.script.push(failure(status, 'Busy', { 'retry-after': '0' }), json({ ok: 1 }));
    const call = server.client().request({ ...GET, method });
    if (again) expect(await call).toEqual({ ok: 1 });
    else expect(await fault(call)).toMatchObject({ status });
    expect(server.calls).toHaveLength(again ? 2 : 1);
  });

  test('end: a server that always says so is asked four times', async () => {
    server.script.push(...Array.from({ length: 9 }, () => failure(429, 'Busy', { 'retry-after': '0' })));
    expect(await fault(server.client().request(GET))).toMatchObject({ status: 429 });
    expect(server.calls).toHaveLength(4);
  });

  test('do not outlast the time limit', async () => {
    server.script.push(failure(429, 'Busy', { 'retry-after': '60' }));
    expect(await fault(server.client().request(GET))).toMatchObject({ status: 429, retryAfterMs: 60_000 });
  });

  test('a kept connection that was closed costs a read nothing', async () => {
    server.script.push((call) => call.socket.destroy(), json({ ok: 1 }));
    expect(await server.client().request(GET)).toEqual({ ok: 1 });
  });

  test('and only once', async () => {
    server.otherwise((call) => call.socket.destroy());
    expect(await fault(server.client().request(GET))).toMatchObject({ status: 0, reason: 'Unreachable' });
    expect(server.calls).toHaveLength(2);
  });

  test('a write is not repeated when its connection breaks', async () => {
    server.script.push((call) => call.socket.destroy(), json({ ok: 1 }));
    expect(await fault(server.client().request({ ...GET, method: 'POST' }))).toMatchObject({ status: 0 });
    expect(server.calls).toHaveLength(1);
  });
});

describe('connections', () => {
  test('are kept and shared', async () => {
    server.script.push(...Array.from({ length: 20 }, () => json({})));
    const client = server.client();
    for (let n = 0; n < 20; n += 1) await client.request(GET);
    // undici opens a second one while the first is still being freed.
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  test('carry ten calls at once; watches and urgent calls are not counted', async () => {
    const held: (() => void)[] = [];
    const hold = (_: unknown, response: { end(text: string): void }) => held.push(() => response.end('{}'));
    const watch = openWatch();
    const client = server.client();
    server.script.push(watch.answer);
    const stop = new AbortController();
    await client.stream({ path: '/watch', signal: stop.signal });
    server.script.push(...Array.from({ length: 13 }, () => hold));
    const calls = Array.from({ length: 12 }, () => client.request(GET));
    await until(() => held.length === 10, 'ten calls arrived');
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(held).toHaveLength(10);
    const urgent = client.request({ ...GET, path: '/lease', urgent: true });
    await until(() => held.length === 11, 'the urgent call arrived');
    for (let n = 0; n < 13; n += 1) (await until(() => held[n], `call ${n} arrived`))();
    await Promise.all([...calls, urgent]);
    stop.abort();
  });

  test('read a token file anew, relative to the kubeconfig; it wins over a token', async () => {
    const clock = fakeClock();
    const kubeconfig = server.kubeconfig({ token: 'inline', tokenFile: 'user-token' });
    const file = join(dirname(kubeconfig), 'user-token');
    writeFileSync(file, 'first\n');
    const client = server.client({ kubeconfig, clock });
    server.script.push(json({}), json({}));
    await client.request(GET);
    writeFileSync(file, 'second\n');
    await clock.advance(10_000);
    await client.request(GET);
    expect(server.calls.map((call) => call.headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
  });

  test('use the client certificate', async () => {
    let subject: unknown;
    server.script.push((call, response) => {
      subject = (
        call.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } }
      ).getPeerCertificate().subject.CN;
      response.end('{}');
    });
    const user = { 'client-certificate': tlsFile('client1.crt'), 'client-key': tlsFile('client1.key') };
    await server.client({ kubeconfig: server.kubeconfig(user) }).request(GET);
    expect(subject).toBe('tester');
  });

  test('refuse a server of another authority, unless told to skip the check', async () => {
    const other = { 'certificate-authority': tlsFile('ca2.crt') };
    server.script.push(json({ ok: 1 }));
    expect(
      await fault(server.client({ kubeconfig: server.kubeconfig({ token: 't' }, other) }).request(GET)),
    ).toMatchObject({ status: 0, reason: 'Unreachable' });
    const skip = { 'certificate-authority': undefined, 'insecure-skip-tls-verify': true };
    const client = server.client({ kubeconfig: server.kubeconfig({ token: 't' }, skip) });
    expect(await client.request(GET)).toEqual({ ok: 1 });
  });

  test('stop at once while connecting', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const kubeconfig = server.kubeconfig({ token: 't' }, { server: `https://127.0.0.1:${port}` });
    const stop = new AbortController();
    const call = server.client({ kubeconfig }).stream({ path: '/x', signal: stop.signal });
    const began = performance.now();
    setTimeout(() => stop.abort('enough'), 20);
    await expect(call).rejects.toBe('enough');
    expect(performance.now() - began).toBeLessThan(1_000);
    silent.close();
  });
});

describe('in a pod', () => {
  function serviceAccount() {
    const root = join(server.folder, 'pod');
    const folder = join(root, 'var/run/secrets/kubernetes.io/serviceaccount');
    mkdirSync(folder, { recursive: true });
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    write('token', 'first\n');
    write('ca.crt', tlsText('ca1.crt'));
    write('namespace', 'home\n');
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1');
    vi.stubEnv('KUBERNETES_SERVICE_PORT', String(server.port));
    return { root, write };
  }
  const used = () => server.calls.map((call) => call.headers.authorization);

  test('the token file is read again after ten seconds', async () => {
    const { root, write } = serviceAccount();
    const clock = fakeClock();
    const client = server.client({ serviceAccountRoot: root, clock });
    expect(client.namespace()).toBe('home');
    server.script.push(json({}), json({}), json({}));
    await client.request(GET);
    write('token', 'second\n');
    await client.request(GET);
    await clock.advance(10_000);
    await client.request(GET);
    expect(used()).toEqual(['Bearer first', 'Bearer first', 'Bearer second']);
  });

  test('and at once after a 401', async () => {
    const { root, write } = serviceAccount();
    const clock = fakeClock();
    const client = server.client({ serviceAccountRoot: root, clock });
    server.script.push(json({}), failure(401, 'Unauthorized'), json({ ok: 1 }));
    await client.request(GET);
    write('token', 'second\n');
    await clock.advance(2_000);
    expect(await client.request({ ...GET, method: 'POST' })).toEqual({ ok: 1 });
    expect(used()).toEqual(['Bearer first', 'Bearer first', 'Bearer second']);
  });

  test('a 401 that new credentials do not cure is given back, without a loop', async () => {
    const { root } = serviceAccount();
    const clock = fakeClock();
    const client = server.client({ serviceAccountRoot: root, clock });
    server.script.push(...Array.from({ length: 9 }, () => failure(401, 'Unauthorized')));
    await clock.advance(2_000);
    expect(await fault(client.request(GET))).toMatchObject({ status: 401 });
    expect(server.calls).toHaveLength(2);
  });

  test('a changed CA file makes new connections', async () => {
    const { root, write } = serviceAccount();
    const clock = fakeClock();
    const client = server.client({ serviceAccountRoot: root, clock });
    server.script.push(json({}), json({ ok: 2 }));
    await client.request(GET);
    server.useCertificate(2);
    server.cutAll();
    expect(await fault(client.request(GET))).toMatchObject({ reason: 'Unreachable' });
    write('ca.crt', tlsText('ca2.crt'));
    await clock.advance(10_000);
    expect(await client.request(GET)).toEqual({ ok: 2 });
  });

  test('a CA file that is written anew without a change keeps the connections', async () => {
    const { root, write } = serviceAccount();
    const clock = fakeClock();
    const client = server.client({ serviceAccountRoot: root, clock });
    server.script.push(json({}), json({}));
    await client.request(GET);
    write('ca.crt', tlsText('ca1.crt'));
    await clock.advance(10_000);
    await client.request(GET);
    expect(server.connections()).toBe(1);
  });
});

describe('a credential plugin', () => {
  function plugin(expiry: string) {
    const log = join(server.folder, 'runs');
    writeFileSync(log, '');
    const path = join(server.folder, 'plugin.sh');
    writeFileSync(
      path,
      `#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" >> '${log}'
n=$(wc -l < '${log}' | tr -d ' ')
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t'$n'"${expiry}}}'
`,
    );
    chmodSync(path, 0o755);
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './plugin.sh',
      interactiveMode: 'Never',
      provideClusterInfo: true,
    };
    return {
      kubeconfig: server.kubeconfig({ exec }),
      runs: () => readFileSync(log, 'utf8').trim().split('\n'),
    };
  }
  const used = () => server.calls.map((call) => call.headers.authorization);

  test('runs once for many calls and is told of the cluster', async () => {
    const { kubeconfig, runs } = plugin('');
    server.script.push(...Array.from({ length: 8 }, () => json({})));
    const client = server.client({ kubeconfig });
    await Promise.all(Array.from({ length: 8 }, () => client.request(GET)));
    expect(used()).toEqual(Array.from({ length: 8 }, () => 'Bearer t1'));
    expect(JSON.parse(runs()[0] ?? '')).toMatchObject({
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: server.url } },
    });
  });

  test('runs again when the credential has expired, and after a 401', async () => {
    const { kubeconfig } = plugin(',"expirationTimestamp":"2001-01-01T00:00:00Z"');
    const clock = fakeClock();
    const client = server.client({ kubeconfig, clock });
    server.script.push(json({}), json({}), failure(401, 'Unauthorized'), json({}));
    await client.request(GET);
    await clock.advance(10_000);
    await client.request(GET);
    await client.request(GET);
    expect(used()).toEqual(['Bearer t1', 'Bearer t2', 'Bearer t2', 'Bearer t3']);
  });

  test('is not run again for every 401', async () => {
    const { kubeconfig, runs } = plugin('');
    const clock = fakeClock();
    const client = server.client({ kubeconfig, clock });
    server.otherwise(failure(401, 'Unauthorized'));
    for (let n = 0; n < 10; n += 1) {
      await clock.advance(2_000);
      expect(await fault(client.request(GET))).toMatchObject({ status: 401 });
    }
    expect(runs()).toHaveLength(3);
  });

  test('that fails is named without its output', async () => {
    const args = ['-c', 'echo hush-hush >&2; exit 1'];
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args };
    const error = await fault(server.client({ kubeconfig: server.kubeconfig({ exec }) }).request(GET));
    expect(error).toMatchObject({ status: 0, reason: 'CredentialsUnavailable' });
    expect(inspect(error, { depth: 9 })).not.toContain('hush');
  });

  test('that is not there is named', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'no-such-plugin' };
    const error = await fault(server.client({ kubeconfig: server.kubeconfig({ exec }) }).request(GET));
    expect(error.message).toContain('no-such-plugin cannot be read or run');
  });
});

describe('configuration', () => {
  test('a missing file is named', () => {
    expect(() => connectKube({ userAgent: 't', kubeconfig: '/no/such/file' })).toThrow(
      'kubeconfig /no/such/file cannot be read: give the path of a readable file',
    );
  });

  test('a broken file is named without its content', () => {
    const path = join(server.folder, 'broken');
    writeFileSync(path, 'users: [{token: "hush-hush" oops');
    expect(() => connectKube({ userAgent: 't', kubeconfig: path })).toThrow(/is not valid/);
    expect(() => connectKube({ userAgent: 't', kubeconfig: path })).not.toThrow(/hush/);
    for (const named of [path, `${path}${delimiter}/no/such/file`]) {
      vi.stubEnv('KUBECONFIG', named);
      expect(() => connectKube({ userAgent: 't' })).toThrow(/broken.*not valid/);
      expect(() => connectKube({ userAgent: 't' })).not.toThrow(/hush/);
      vi.unstubAllEnvs();
    }
  });

  test.each([
    [
      { server: 'localhost:6443' },
      'kubeconfig server "localhost:6443" is not an address: use https://HOST:PORT',
    ],
    [{ server: 'http://h:80' }, 'kubeconfig server http://h:80 would get credentials in the clear'],
    [{ 'proxy-url': 'socks5://h:1' }, 'kubeconfig proxy-url is a SOCKS proxy, which is not supported'],
  ])('%j is refused', (cluster, message) => {
    const kubeconfig = server.kubeconfig({ token: 't' }, cluster);
    expect(() => connectKube({ userAgent: 't', kubeconfig })).toThrow(message);
  });

  test('a certificate file that is gone is named', async () => {
    const kubeconfig = server.kubeconfig({
      'client-certificate': '/no/such.crt',
      'client-key': '/no/such.key',
    });
    const error = await fault(server.client({ kubeconfig }).request(GET));
    expect(error).toMatchObject({ status: 0, reason: 'CredentialsUnavailable' });
    expect(error.message).toContain('/no/such.crt cannot be read');
  });

  test('a proxy-url is gone through', async () => {
    const seen: string[] = [];
    const proxy = createHttpServer().on('connect', (request, socket) => {
      seen.push(request.url ?? '');
      const far = connect(server.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        far.pipe(socket).pipe(far);
      });
      far.on('error', () => socket.destroy());
      socket.on('error', () => far.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    server.script.push(json({ ok: 1 }));
    const kubeconfig = server.kubeconfig({ token: 't' }, { 'proxy-url': `http://127.0.0.1:${port}` });
    expect(await server.client({ kubeconfig }).request(GET)).toEqual({ ok: 1 });
    expect(seen).toEqual([`127.0.0.1:${server.port}`]);
    proxy.close();
  });

  test('an unknown context is named, with those there are', () => {
    const kubeconfig = server.kubeconfig({ token: 't' });
    expect(() => connectKube({ userAgent: 't', kubeconfig, context: 'prod' })).toThrow(
      'kubeconfig has no context "prod": it has test',
    );
  });

  test('a kubeconfig replaced by a broken one leaves the credentials in use', async () => {
    const kubeconfig = server.kubeconfig({ token: 'good' });
    const copy = join(server.folder, 'copy');
    copyFileSync(kubeconfig, copy);
    const clock = fakeClock();
    const client = server.client({ kubeconfig: copy, clock });
    server.script.push(json({}), json({}));
    await client.request(GET);
    writeFileSync(copy, '{');
    await clock.advance(10_000);
    await client.request(GET);
    expect(server.calls[1]?.headers.authorization).toBe('Bearer good');
  });
});
