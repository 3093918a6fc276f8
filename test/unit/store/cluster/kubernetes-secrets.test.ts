import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../../../src/observe/log.ts';
import type { FollowedList } from '../../../../src/store/cluster/followed-lists.ts';
import { followSecrets } from '../../../../src/store/cluster/kubernetes-secrets.ts';
import { Content } from '../../../../src/store/content.ts';
import {
  type Answer,
  failure,
  json,
  openWatch,
  type ScriptedServer,
  scriptedServer,
} from '../../kube/scripted-server.ts';
import { until } from '../../kube/until.ts';
import { makeNode } from '../make.ts';

const collection = '/api/v1/namespaces/team/secrets';
let server: ScriptedServer;
let stop: AbortController;
beforeEach(async () => {
  server = await scriptedServer();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await server.close();
});

const secret = (version: string, apiKey: string) =>
  json({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'team', resourceVersion: version },
    data: { apiKey: Buffer.from(apiKey).toString('base64') },
  });

/** Follows the Secrets of a namespace with one node that names `s`. */
async function start(
  answers: { watch: Answer; get: Answer; settles?: false },
  unwatched?: (namespace: string | undefined) => void,
) {
  server.otherwise((call, response) =>
    (call.path === collection ? answers.watch : answers.get)(call, response),
  );
  const lines: { level: string; msg: string }[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog({ level: 'info', format: 'json', role: 'test', destination });
  const secrets = followSecrets({
    client: server.client(),
    log,
    metrics: { relisted: () => {}, watchRestarted: () => {} },
    signal: stop.signal,
    touch: () => {},
    retryMs: 30,
    pollMs: 40,
    ...(unwatched && { unwatched }),
  });
  const content: Content = new Content({
    log,
    sealingNamespace: 'home',
    openSealed: async () => undefined,
    wantSecret: (namespace, name, wanted) => secrets.want(namespace, name, wanted, content),
  });
  const heard: string[] = [];
  content.subscribe(({ kind }) => heard.push(kind));
  content.set(makeNode({ apiKeySecretRef: { name: 's' } }, undefined, { namespace: 'team' }));
  const told: string[] = [];
  const list: FollowedList = {
    filled: () => {},
    opened: () => {},
    received: () => {},
    restarts: (reason) => told.push(reason) === 1,
    mayBeDropped: () => false,
    dropped: () => {},
    ended: () => {},
  };
  void secrets.follow('team', content, list, stop.signal);
  if (answers.settles !== false) await secrets.settled();
  const state = () => {
    const credentials = content.node('team', 'node')?.credentials;
    if (credentials?.state === 'Resolved') return credentials.connection.credential;
    return credentials?.state === 'Refused' ? credentials.reason : credentials?.state;
  };
  const reads = () => server.calls.filter(({ path }) => path === `${collection}/s`).length;
  return { content, heard, lines, reads, state, secrets };
}

test('a Secret that may not be read is refused with a reason, and read once it may', async () => {
  const answers = { watch: failure(403, 'Forbidden'), get: failure(403, 'Forbidden') };
  const { state, reads, lines } = await start(answers);
  expect(state()).toBe('SecretForbidden');
  await until(() => reads() > 3, 'it is tried again');
  expect(lines.filter(({ msg }) => msg.includes('could not be read'))).toHaveLength(1);
  answers.get = secret('1', 'sk-1');
  await until(() => state() === 'sk-1', 'it is read');
});

test('where the watch is refused, a Secret that may be read is looked at again and again', async () => {
  const answers: { watch: Answer; get: Answer } = {
    watch: failure(403, 'Forbidden'),
    get: secret('1', 'sk-1'),
  };
  const { heard, reads, state } = await start(answers);
  expect(state()).toBe('sk-1');
  heard.length = 0;
  const before = reads();
  await until(() => reads() > before + 2, 'it is looked at');
  expect(heard).toEqual([]);
  answers.get = secret('2', 'sk-2');
  await until(() => state() === 'sk-2', 'the rotated one is taken');
  answers.get = failure(403, 'Forbidden');
  const then = reads();
  await until(() => reads() > then + 2, 'the right was taken away');
  expect(state()).toBe('sk-2');
  answers.get = failure(404, 'NotFound');
  await until(() => state() === 'SecretNotFound', 'it is gone');
});

test('a refused Secret is asked for less and less often, and the log names a reason once', async () => {
  const { reads, lines } = await start({ watch: failure(403, 'Forbidden'), get: failure(403, 'Forbidden') });
  const watches = () => server.calls.filter(({ path }) => path === collection).length;
  await until(() => watches() > 2, 'the watch is tried again');
  // 30 ms doubled each time: after 3 s at most 8, not a hundred.
  expect(reads()).toBeLessThan(9);
  expect(lines.filter(({ msg }) => msg.startsWith('Watch of Secrets failed'))).toHaveLength(1);
});

test('where the watch works nothing is read without a change', async () => {
  const none = json({ kind: 'SecretList', apiVersion: 'v1', metadata: { resourceVersion: '9' }, items: [] });
  const watch: Answer = (call, response) =>
    (call.query.has('watch') ? openWatch().answer : none)(call, response);
  const { reads, state } = await start({ watch, get: secret('1', 'sk-1') });
  expect(state()).toBe('sk-1');
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(reads()).toBe(1);
});

test('where the watch is refused, keys are looked at again and again', async () => {
  const seen: (string | undefined)[] = [];
  const refused = failure(403, 'Forbidden');
  await start({ watch: refused, get: refused }, (namespace) => seen.push(namespace));
  await until(() => seen.length > 1, 'twice');
  expect(new Set(seen)).toEqual(new Set(['team']));
});

test('an answer from before a deletion does not bring the Secret back', async () => {
  const item = { metadata: { name: 's', namespace: 'team', resourceVersion: '1' } };
  const list = {
    kind: 'PartialObjectMetadataList',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: '9' },
  };
  const watch = openWatch();
  const answers: { watch: Answer; get: Answer } = {
    watch: (call, response) =>
      (call.query.has('watch') ? watch.answer : json({ ...list, items: [item] }))(call, response),
    get: secret('1', 'sk-1'),
  };
  const { state, reads } = await start(answers);
  expect(state()).toBe('sk-1');
  const { promise, resolve } = Promise.withResolvers<void>();
  answers.get = async (call, response) => {
    await promise;
    answers.get = failure(404, 'NotFound');
    return secret('2', 'sk-2')(call, response);
  };
  const before = reads();
  const changed = (type: string, resourceVersion: string) =>
    watch.send({ type, object: { ...item, metadata: { ...item.metadata, resourceVersion } } });
  await changed('MODIFIED', '2');
  await until(() => reads() > before, 'it is read');
  await changed('DELETED', '3');
  await until(() => state() === 'SecretNotFound', 'it is gone');
  resolve();
  await until(() => reads() > before + 1, 'it is read once more');
  await new Promise((done) => setTimeout(done, 50));
  expect(state()).toBe('SecretNotFound');
});

test('a Secret that the API server cannot return is named, and read once it can', async () => {
  const answers: { watch: Answer; get: Answer; settles: false } = {
    watch: failure(500, 'InternalError'),
    get: failure(500, 'InternalError'),
    settles: false,
  };
  const { state, reads, lines, secrets } = await start(answers);
  await until(() => reads() > 2, 'it is tried again');
  expect(state()).toBe('Pending');
  expect([...secrets.unreadable()]).toEqual([['team', 1]]);
  expect(secrets.remarks()).toEqual([
    'Secret team/s cannot be read: the API server answered 500 (InternalError)',
  ]);
  expect(lines.filter(({ msg }) => msg.includes('could not be read'))).toHaveLength(1);
  answers.get = secret('1', 'sk-1');
  await until(() => state() === 'sk-1', 'it is read');
  await secrets.settled();
  expect(secrets.remarks()).toEqual([]);
  // The watch of all Secrets is still broken, so that each is looked at by itself.
  answers.get = secret('2', 'sk-2');
  await until(() => state() === 'sk-2', 'the rotated one is taken');
});
