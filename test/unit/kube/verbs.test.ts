import { afterEach, beforeEach, expect, test } from 'vitest';
import { listPages } from '../../../src/kube/list.ts';
import {
  createObject,
  deleteObject,
  getObject,
  mergePatch,
  replaceObject,
  serverSideApply,
} from '../../../src/kube/verbs.ts';
import { json, type ScriptedServer, scriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
beforeEach(async () => {
  server = await scriptedServer();
  server.otherwise(json({ ok: 1 }));
});
afterEach(() => server.close());

test('each verb on the wire', async () => {
  const client = server.client();
  await getObject(client, '/x');
  await createObject(client, '/x', { a: 1 });
  await replaceObject(client, '/x/n', { a: 2 });
  await serverSideApply(client, '/x/n/status', { a: 3 }, { fieldManager: 'me', force: true });
  await mergePatch(client, '/x/n', { a: null });
  await deleteObject(client, '/x/n', { uid: 'u', resourceVersion: '7' });
  const line = ({ method, path, query, headers, body }: (typeof server.calls)[number]) =>
    `${method} ${path} ${query} ${headers['content-type'] ?? '-'} ${JSON.stringify(body)}`;
  expect(server.calls.map(line)).toEqual([
    'GET /x  - undefined',
    'POST /x  application/json {"a":1}',
    'PUT /x/n  application/json {"a":2}',
    'PATCH /x/n/status fieldManager=me&force=true application/apply-patch+yaml {"a":3}',
    'PATCH /x/n  application/merge-patch+json {"a":null}',
    'DELETE /x/n  application/json {"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u","resourceVersion":"7"}}',
  ]);
});

test('an answer that is not a list is named', async () => {
  const pages = listPages(server.client(), { path: '/x', signal: new AbortController().signal });
  await expect(pages.next()).rejects.toMatchObject({ status: 0, reason: 'InvalidResponse' });
});

test('a list without items is empty', async () => {
  server.script.push(json({ kind: 'ThingList', metadata: { resourceVersion: '5' }, items: null }));
  const pages = listPages(server.client(), { path: '/x', signal: new AbortController().signal });
  expect(await pages.next()).toEqual({ done: false, value: { items: [], resourceVersion: '5' } });
});
