import type { ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/kube/api-error.ts';
import { limitInFlight } from '../../../src/kube/in-flight.ts';
import { type ReflectOptions, reflect } from '../../../src/kube/reflect.ts';
import { fakeClock } from './fake-clock.ts';
import {
  type Answer,
  failure,
  json,
  openWatch,
  type ScriptedServer,
  scriptedServer,
} from './scripted-server.ts';
import { until } from './until.ts';

const PATH = '/apis/example.dev/v1/things';
let server: ScriptedServer;
let stops: (() => Promise<void>)[] = [];
beforeEach(async () => {
  server = await scriptedServer();
});
afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
  await server.close();
});

const thing = (name: string, version: number, more: object = {}) => ({
  apiVersion: 'example.dev/v1',
  kind: 'Thing',
  metadata: { name, namespace: 'a', resourceVersion: String(version), ...more },
});
const added = (name: string, version: number) => ({ type: 'ADDED', object: thing(name, version) });
const bookmark = (version: number, annotations?: object) => ({
  type: 'BOOKMARK',
  object: { kind: 'Thing', metadata: { resourceVersion: String(version), annotations } },
});
const initialEnd = (version: number) => bookmark(version, { 'k8s.io/initial-events-end': 'true' });
const errorEvent = (code: number, reason: string) => ({
  type: 'ERROR',
  object: { kind: 'Status', code, reason, message: reason },
});
const tooLarge = json(
  {
    kind: 'Status',
    code: 504,
    reason: 'Timeout',
    details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
  },
  504,
);
const list = (version: number, names: string[]) =>
  json({
    apiVersion: 'example.dev/v1',
    kind: 'ThingList',
    metadata: { resourceVersion: String(version) },
    items: names.map((name) => ({ metadata: { name, namespace: 'a' } })),
  });

type Named = { metadata: { name: string } };

/** Runs reflect against the server, keeping what the sink was told. */
function start(options: Partial<ReflectOptions> = {}) {
  const clock = fakeClock();
  const stop = new AbortController();
  const told: string[] = [];
  const content = new Map<string, unknown>();
  const restarts: { reason: string; error: unknown; waitMs: number }[] = [];
  const errors: unknown[] = [];
  let relists = 0;
  let signs = 0;
  const name = (object: unknown) => (object as Named).metadata.name;
  const done = reflect({
    client: server.client({ clock }),
    path: PATH,
    signal: stop.signal,
    clock,
    random: () => 0.5,
    sink: {
      replace(objects) {
        content.clear();
        for (const object of objects) content.set(name(object), object);
        told.push(`replace ${objects.map(name).join(' ')}`.trim());
      },
      set(object) {
        content.set(name(object), object);
        told.push(`set ${name(object)}`);
      },
      remove(object) {
        content.delete(name(object));
        told.push(`remove ${name(object)}`);
      },
    },
    onRestart: (reason, error, waitMs) => restarts.push({ reason, error, waitMs }),
    onRelist: () => {
      relists += 1;
    },
    onEvent: () => {
      signs += 1;
    },
    onSinkError: (error) => errors.push(error),
    ...options,
  });
  stops.push(async () => {
    stop.abort();
    await done;
  });
  return {
    clock,
    stop,
    done,
    told,
    content,
    restarts,
    errors,
    relists: () => relists,
    signs: () => signs,
    heard: (count: number) => until(() => told.length >= count, `the sink was told ${count} times`),
    restarted: (count: number) => until(() => restarts.length >= count, `${count} restarts`),
  };
}

/** Waits for the n-th request and returns its query. */
async function query(n: number) {
  const call = await until(() => server.calls[n], `request ${n} arrived`);
  return Object.fromEntries(call.query);
}

/** A watch that has delivered `a` and `b` and stands at version 10. */
async function filled(options: Partial<ReflectOptions> = {}) {
  const watch = openWatch();
  server.script.push(list(10, ['a', 'b']), watch.answer);
  const run = start(options);
  await run.heard(1);
  // Seen by the client, whose time for opening it has then ended.
  await watch.send(bookmark(10));
  await until(() => run.signs() === 2, 'the watch is open');
  return { run, watch };
}

/** A server that is too slow for a list, so that the content is streamed; its watch has been asked for. */
async function streaming(options: Partial<ReflectOptions> = {}) {
  const watch = openWatch();
  server.script.push(failure(504, 'Timeout'), watch.answer);
  const run = start(options);
  await run.restarted(1);
  await run.clock.advance(800);
  await watch.opened;
  return { run, watch };
}

describe('start', () => {
  test('lists the objects, swaps them in at once and watches from the version of the list', async () => {
    const watch = openWatch();
    const opened = Promise.withResolvers<ServerResponse>();
    server.script.push((_, response) => opened.resolve(response.writeHead(200)), watch.answer);
    const run = start({ query: { labelSelector: 'x=y' } });
    expect(await query(0)).toEqual({ labelSelector: 'x=y' });
    const response = await opened.promise;
    response.write('{"apiVersion":"example.dev/v1","items":[');
    response.write(JSON.stringify(thing('a', 3)));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(run.told).toEqual([]);
    response.end(
      `,${JSON.stringify(thing('b', 5))}],"kind":"ThingList","metadata":{"resourceVersion":"10"}}`,
    );
    await run.heard(1);
    expect(await query(1)).toEqual({
      labelSelector: 'x=y',
      watch: 'true',
      resourceVersion: '10',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '450',
    });
    await watch.send({ type: 'MODIFIED', object: thing('b', 11) });
    await watch.send({ type: 'DELETED', object: thing('a', 12) });
    await run.heard(3);
    expect(run.told).toEqual(['replace a b', 'set b', 'remove a']);
    expect(run.signs()).toBe(3);
    expect(run.restarts).toEqual([]);
  });

  test('gives the objects of a built-in kind their type', async () => {
    const { run } = await filled();
    expect(run.content.get('a')).toMatchObject({ apiVersion: 'example.dev/v1', kind: 'Thing' });
  });

  test('a part of a list is not taken for the whole', async () => {
    const part = { metadata: { resourceVersion: '10', continue: 'more' }, items: [thing('a', 3)] };
    server.script.push(json(part), list(10, ['b']), openWatch().answer);
    const run = start();
    await run.heard(1);
    expect(run.told).toEqual(['replace a b']);
    expect(await query(1)).toEqual({ continue: 'more' });
  });

  test.each([
    ['is cut off', '{"items":[{"metadata":{"name":"a"}}', 'Interrupted'],
    ['ends too early', '{"items":[{"metadata":{"name":"a"}}]', 'InvalidResponse'],
    [
      'holds something that is no object',
      '{"metadata":{"resourceVersion":"1"},"items":[{},7]}',
      'InvalidResponse',
    ],
    [
      'holds an object that is no JSON',
      '{"metadata":{"resourceVersion":"1"},"items":[{"a":}]}',
      'InvalidResponse',
    ],
    ['has no version', '{"items":[]}', 'InvalidResponse'],
    ['is none', '"no"', 'InvalidResponse'],
  ])('a list that %s is not taken; the next beginning is a streaming list', async (how, text, reason) => {
    const watch = openWatch();
    server.script.push((_, response) => {
      response.writeHead(200).write(text, () => (how === 'is cut off' ? response.destroy() : response.end()));
    }, watch.answer);
    const run = start();
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'error', error: { reason } });
    expect(run.told).toEqual([]);
    await run.clock.advance(800);
    await watch.send(added('a', 3), initialEnd(10));
    await run.heard(1);
    expect(run.told).toEqual(['replace a']);
  });

  test('a list of which nothing comes for 100 s is given up', async () => {
    server.script.push((_, response) => void response.writeHead(200).write('{"items":['));
    const run = start();
    await until(() => server.calls.length === 1, 'the list was asked for');
    await new Promise((resolve) => setTimeout(resolve, 20));
    await run.clock.advance(100_000);
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'silence', error: { status: 0, reason: 'Silent' } });
  });

  test('streams the initial objects after a list failed, swaps them in at once and goes on', async () => {
    const { run, watch } = await streaming({ query: { labelSelector: 'x=y' } });
    expect(await query(1)).toEqual({
      labelSelector: 'x=y',
      watch: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '450',
    });
    await watch.send(
      added('a', 3),
      added('gone', 4),
      { type: 'DELETED', object: thing('gone', 6) },
      added('b', 5),
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(run.told).toEqual([]);
    await watch.send(initialEnd(10), { type: 'MODIFIED', object: thing('b', 11) });
    await watch.send({ type: 'DELETED', object: thing('a', 12) });
    await run.heard(3);
    expect(run.told).toEqual(['replace a b', 'set b', 'remove a']);
    expect(run.signs()).toBe(3);
  });

  test('what was streamed once is streamed again', async () => {
    const { run, watch } = await streaming();
    await watch.send(added('a', 3), initialEnd(10), errorEvent(410, 'Expired'));
    await run.restarted(2);
    server.script.push(openWatch().answer);
    await run.clock.advance(800);
    expect(await query(2)).toMatchObject({ sendInitialEvents: 'true' });
  });

  test.each([
    [422, 'Invalid'],
    [400, 'BadRequest'],
  ])('a server that refuses to stream (%i) is asked for a list at once', async (status, reason) => {
    const watch = openWatch();
    server.script.push(failure(504, 'Timeout'), failure(status, reason), list(7, ['a', 'b']), watch.answer);
    const run = start();
    await run.restarted(1);
    await run.clock.advance(800);
    await run.heard(1);
    expect(run.told).toEqual(['replace a b']);
    expect(await query(3)).toMatchObject({ watch: 'true', resourceVersion: '7' });
    await watch.send(added('d', 8));
    await run.heard(2);
    expect(run.restarts).toHaveLength(1);
  });

  test('lists again when the server ends the stream without the mark', async () => {
    const { run, watch } = await streaming();
    server.script.push(list(7, ['a']), openWatch().answer);
    await watch.send(added('a', 3));
    await watch.end();
    await run.restarted(2);
    await run.clock.advance(1_600);
    await run.heard(1);
    expect(run.told).toEqual(['replace a']);
  });

  test('asks for metadata alone, of lists and watches', async () => {
    server.script.push(failure(504, 'Timeout'), failure(422, 'Invalid'), list(7, ['a']), openWatch().answer);
    const run = start({ metadataOnly: true });
    await run.restarted(1);
    await run.clock.advance(800);
    await query(3);
    const [ofLists, ofWatches] = ['PartialObjectMetadataList', 'PartialObjectMetadata'].map(
      (as) => `application/json;as=${as};g=meta.k8s.io;v=v1`,
    );
    expect(server.calls.map((call) => call.headers.accept)).toEqual([ofLists, ofWatches, ofLists, ofWatches]);
  });

  test.each(['list', 'stream'])('drops managedFields and slims, of a %s', async (way) => {
    const slim = (object: unknown) => ({ ...(object as object), slim: true });
    const object = thing('a', 3, { managedFields: [{}] });
    const run = await (async () => {
      if (way === 'list') {
        server.script.push(
          json({ metadata: { resourceVersion: '10' }, items: [object] }),
          openWatch().answer,
        );
        return start({ slim });
      }
      const { run, watch } = await streaming({ slim });
      await watch.send({ type: 'ADDED', object }, initialEnd(10));
      return run;
    })();
    await run.heard(1);
    expect(run.content.get('a')).toEqual({ ...thing('a', 3), slim: true });
  });

  test.each(['list', 'stream'])('leaves out an object that cannot be slimmed, of a %s', async (way) => {
    const fault = new Error('bad');
    const slim = (object: unknown) => {
      if ((object as Named).metadata.name === 'bad') throw fault;
      return object;
    };
    const run = await (async () => {
      if (way === 'list') {
        const watch = openWatch();
        server.script.push(list(10, ['a', 'bad', 'c']), watch.answer);
        const run = start({ slim });
        await run.heard(1);
        await watch.send(added('bad', 11), added('d', 12));
        return run;
      }
      const { run, watch } = await streaming({ slim });
      await watch.send(added('a', 1), added('bad', 2), added('c', 3), initialEnd(10));
      await run.heard(1);
      await watch.send(added('bad', 11), added('d', 12));
      return run;
    })();
    await run.heard(2);
    expect(run.told).toEqual(['replace a c', 'set d']);
    expect(run.errors).toEqual([fault, fault]);
  });

  test('removes a deleted object although it cannot be slimmed', async () => {
    let isBroken = false;
    const slim = (object: unknown) => {
      if (isBroken) throw new Error('bad');
      return object;
    };
    const { run, watch } = await filled({ slim });
    isBroken = true;
    await watch.send({ type: 'DELETED', object: thing('a', 11) });
    await run.heard(2);
    expect(run.told.at(-1)).toBe('remove a');
    expect(run.errors).toHaveLength(1);
  });

  test('waits for an expired list and takes it again', async () => {
    server.script.push(failure(410, 'Expired'));
    const run = start();
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'expired' });
    server.script.push(failure(422, 'Invalid'), list(8, ['a', 'b']), openWatch().answer);
    await run.clock.advance(800);
    await run.heard(1);
    expect(run.told).toEqual(['replace a b']);
  });
});

describe('resume', () => {
  test('goes on from the version of the last bookmark', async () => {
    const { run, watch } = await filled();
    await watch.send(added('c', 12), bookmark(99));
    await run.heard(2);
    await watch.end();
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'closed', waitMs: 800 });
    server.script.push(openWatch().answer);
    await run.clock.advance(800);
    expect(await query(2)).toEqual({
      watch: 'true',
      resourceVersion: '99',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '450',
    });
  });

  test('a stream cut in the middle of a line loses nothing', async () => {
    const { run, watch } = await filled();
    await watch.send(added('c', 12));
    await run.heard(2);
    await watch.cut(JSON.stringify(added('d', 13)).slice(0, 40));
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'error' });
    const next = openWatch();
    server.script.push(list(12, []), next.answer);
    await run.clock.advance(800);
    expect(await query(3)).toMatchObject({ resourceVersion: '12' });
    await next.send(added('d', 13));
    await run.heard(3);
    expect(run.told).toEqual(['replace a b', 'set c', 'set d']);
  });

  test.each([
    ['an event', [410, 'Expired']],
    ['an event of an older server', [410, 'Gone']],
  ] as const)('410 as %s: a new list, the old content until it is complete', async (_, [code, reason]) => {
    const { run, watch } = await filled();
    await watch.send(errorEvent(code, reason));
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'expired' });
    const opened = Promise.withResolvers<ServerResponse>();
    server.script.push((_, response) => opened.resolve(response.writeHead(200)), openWatch().answer);
    await run.clock.advance(800);
    expect(await query(2)).toEqual({});
    expect(run.relists()).toBe(1);
    const response = await opened.promise;
    response.write(`{"items":[${JSON.stringify(thing('b', 20))}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([...run.content.keys()]).toEqual(['a', 'b']);
    response.end('],"metadata":{"resourceVersion":"21"}}');
    await run.heard(2);
    expect([...run.content.keys()]).toEqual(['b']);
  });

  test('410 as status', async () => {
    const { run, watch } = await filled();
    await watch.end();
    await run.restarted(1);
    server.script.push(failure(410, 'Expired'), openWatch().answer);
    await run.clock.advance(800);
    await run.restarted(2);
    await run.clock.advance(2_000);
    expect(await query(3)).toEqual({});
    expect(run.content.size).toBe(2);
  });

  test('a definition that is gone took its objects with it, until it is back', async () => {
    let gone = 0;
    const { run, watch } = await filled({ onGone: () => (gone += 1) });
    await watch.end();
    await run.restarted(1);
    const groups = json({ kind: 'APIGroupList', groups: [{ name: 'apps', versions: [{ version: 'v1' }] }] });
    const [missing, back] = [failure(404, 'NotFound'), openWatch()];
    server.script.push(missing, groups, missing, back.answer);
    for (const [restarts, waitMs] of [
      [2, 800],
      [3, 1_600],
    ] as const) {
      await run.clock.advance(waitMs);
      await run.restarted(restarts);
      expect(run.restarts.at(-1)).toMatchObject({ reason: 'missing' });
      expect([run.content.size, gone]).toEqual([0, 1]);
    }
    await run.clock.advance(3_200);
    await back.send(added('c', 20), initialEnd(21));
    await until(() => run.content.has('c'), 'the new object is there');
  });

  test('a version that is served no more leaves what another version still serves', async () => {
    let gone = 0;
    const { run, watch } = await filled({ onGone: () => (gone += 1) });
    const before = run.content.size;
    await watch.end();
    await run.restarted(1);
    const versions = [{ version: 'v2' }];
    const groups = json({ kind: 'APIGroupList', groups: [{ name: 'example.dev', versions }] });
    const resources = json({ kind: 'APIResourceList', resources: [{ name: 'things' }] });
    server.script.push(failure(404, 'NotFound'), groups, resources);
    await run.clock.advance(800);
    await run.restarted(2);
    expect([run.content.size, gone]).toEqual([before, 0]);
  });

  test.each([
    ['discovery that is refused', failure(403, 'Forbidden')],
    ['an answer that no API server gives', json({ hello: 'from a proxy' })],
    [
      'discovery that knows the resource',
      json({ kind: 'APIGroupList', groups: [{ name: 'example.dev', versions: [{ version: 'v1' }] }] }),
    ],
  ])('a 404 beside %s changes nothing', async (_, discovery) => {
    const { run, watch } = await filled();
    await watch.end();
    await run.restarted(1);
    const resources = json({ kind: 'APIResourceList', resources: [{ name: 'things' }] });
    server.script.push(failure(404, 'NotFound'), discovery, resources);
    await run.clock.advance(800);
    await run.restarted(2);
    expect([...run.content.keys()]).toEqual(['a', 'b']);
  });

  test('a version from the future (restored etcd) is given up', async () => {
    const { run, watch } = await filled();
    const status = { kind: 'Status', code: 504, reason: 'Timeout', message: 'x' };
    const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
    await watch.send({ type: 'ERROR', object: { ...status, details: { causes } } });
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'expired' });
  });

  test('after a failure it asks first whether the server has come as far: if not, an older state is in place', async () => {
    let turnedBack = 0;
    const { run, watch } = await filled({ onTurnedBack: () => (turnedBack += 1) });
    await watch.cut();
    await run.restarted(1);
    server.script.push(tooLarge);
    await run.clock.advance(800);
    await run.restarted(2);
    expect(await query(2)).toEqual({
      limit: '1',
      resourceVersion: '10',
      resourceVersionMatch: 'NotOlderThan',
    });
    expect([run.restarts[1]?.reason, turnedBack, run.content.size]).toEqual(['expired', 1, 2]);
    const older = openWatch();
    server.script.push(list(7, ['b']), older.answer);
    await run.clock.advance(30_000);
    await run.heard(2);
    expect(await query(3)).toEqual({});
    expect([...run.content.keys()]).toEqual(['b']);
    // It was asked and answered: the next end is one like any other.
    await older.end();
    await run.restarted(3);
    server.script.push(openWatch().answer);
    await run.clock.advance(800);
    expect(await query(5)).toMatchObject({ watch: 'true', resourceVersion: '7' });
  });

  test('a server that cannot be asked so is watched as before', async () => {
    const { run, watch } = await filled();
    await watch.cut();
    await run.restarted(1);
    server.script.push(failure(400, 'BadRequest'), openWatch().answer);
    await run.clock.advance(800);
    expect(await query(3)).toMatchObject({ watch: 'true', resourceVersion: '10' });
  });

  test('another ERROR event keeps the version', async () => {
    const { run, watch } = await filled();
    await watch.send(errorEvent(500, 'InternalError'));
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({
      reason: 'error',
      error: { status: 500, reason: 'InternalError' },
    });
    server.script.push(list(10, []), openWatch().answer);
    await run.clock.advance(800);
    expect(await query(3)).toMatchObject({ watch: 'true', resourceVersion: '10' });
  });

  test('silence of 100 s is taken for a dead connection', async () => {
    const { run, watch } = await filled();
    await run.clock.advance(99_000);
    await watch.send(bookmark(50));
    await until(() => run.signs() === 3, 'the bookmark was seen');
    await run.clock.advance(99_000);
    expect(run.restarts).toEqual([]);
    expect(watch.isCut()).toBe(false);
    await run.clock.advance(1_000);
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'silence', error: { status: 0, reason: 'Silent' } });
    server.script.push(list(50, []), openWatch().answer);
    await run.clock.advance(800);
    expect(await query(3)).toMatchObject({ watch: 'true', resourceVersion: '50' });
    await until(watch.isCut, 'the dead connection was cut');
  });
});

describe('backoff', () => {
  test('500s: 0.8 s doubling to 30 s, reset by the first event', async () => {
    server.script.push(...Array.from({ length: 8 }, () => failure(500, 'InternalError')));
    const run = start();
    for (let n = 1; n <= 8; n += 1) {
      await run.restarted(n);
      if (n < 8) await run.clock.advance(run.restarts[n - 1]?.waitMs ?? 0);
    }
    const waits = run.restarts.map((restart) => restart.waitMs);
    expect(waits).toEqual([800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
    const watch = openWatch();
    server.script.push(list(2, ['a']), watch.answer);
    await run.clock.advance(30_000);
    await run.heard(1);
    await watch.cut();
    await run.restarted(9);
    expect(run.restarts[8]?.waitMs).toBe(800);
  });

  test('the first answer after an outage begins the waits anew, once', async () => {
    const { run, watch } = await filled();
    const cut: Answer = (_, response) => response.destroy();
    // Each question whether the server has come as far is asked twice where its connection is cut.
    server.script.push(cut, cut, cut, cut, cut, cut);
    server.script.push(failure(410, 'Expired'), cut, failure(500, 'InternalError'));
    await watch.cut();
    for (let n = 1; n <= 7; n += 1) {
      await run.restarted(n);
      if (n < 7) await run.clock.advance(run.restarts[n - 1]?.waitMs ?? 0);
    }
    expect(run.restarts.map(({ reason, waitMs }) => [reason, waitMs])).toEqual([
      ['error', 800],
      ['error', 1600],
      ['error', 3200],
      ['error', 6400],
      ['expired', 800],
      ['error', 1600],
      ['error', 3200],
    ]);
  });

  test('Retry-After is honoured, from a status and from an event', async () => {
    server.script.push(failure(500, 'InternalError', { 'retry-after': '17' }));
    const run = start();
    await run.restarted(1);
    expect(run.restarts[0]?.waitMs).toBe(17_000);
    const watch = openWatch();
    server.script.push(watch.answer);
    await run.clock.advance(16_900);
    expect(server.calls).toHaveLength(1);
    await run.clock.advance(100);
    const object = { code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds: 5 } };
    await watch.send(initialEnd(9), { type: 'ERROR', object });
    await run.restarted(2);
    expect(run.restarts[1]?.waitMs).toBe(5_000);
  });

  test('a server that closes at once is not asked in a hot loop', async () => {
    const { run, watch } = await filled();
    server.otherwise((_, response) => response.writeHead(200).end());
    await watch.end();
    for (let n = 1; n <= 3; n += 1) {
      await run.restarted(n);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(server.calls).toHaveLength(n + 1);
      await run.clock.advance(run.restarts[n - 1]?.waitMs ?? 0);
    }
    expect(run.restarts.slice(0, 3).map(({ reason, waitMs }) => [reason, waitMs])).toEqual([
      ['closed', 800],
      ['closed', 1600],
      ['closed', 3200],
    ]);
  });

  test('a watch that ended in order after it had lived is resumed at once, and waits again when that one ends at once', async () => {
    const { run, watch } = await filled();
    await run.clock.advance(40_000);
    await watch.send(bookmark(20));
    await until(() => run.signs() === 3, 'the bookmark was seen');
    await run.clock.advance(40_000);
    server.otherwise((_, response) => response.writeHead(200).end());
    await watch.end();
    for (let n = 1; n <= 3; n += 1) {
      await run.restarted(n);
      await run.clock.advance(run.restarts[n - 1]?.waitMs ?? 0);
    }
    expect(run.restarts.slice(0, 3).map(({ reason, waitMs }) => [reason, waitMs])).toEqual([
      ['closed', 50],
      ['closed', 800],
      ['closed', 1600],
    ]);
  });

  test.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'missing'],
  ])('%i is tried again for ever, and said', async (status, reason) => {
    server.otherwise(failure(status, 'No'));
    const run = start();
    for (let n = 1; n <= 3; n += 1) {
      await run.restarted(n);
      expect(run.restarts[n - 1]).toMatchObject({ reason, error: { status } });
      if (n < 3) await run.clock.advance(run.restarts[n - 1]?.waitMs ?? 0);
    }
    const watch = openWatch();
    server.script.push(watch.answer);
    await run.clock.advance(30_000);
    await watch.send(added('a', 1), initialEnd(2));
    await run.heard(1);
  });
});

describe('bad data and bad readers', () => {
  test('U+2028 and characters cut by a chunk border arrive whole', async () => {
    const { run, watch } = await filled();
    const response = await watch.opened;
    const bytes = Buffer.from(
      `${JSON.stringify({ type: 'ADDED', object: thing('c', 12, { x: 'a\u2028b€' }) })}\n`,
    );
    const middle = bytes.indexOf(Buffer.from('€')) + 1;
    response.write(bytes.subarray(0, middle));
    await new Promise((resolve) => setTimeout(resolve, 20));
    response.write(bytes.subarray(middle));
    await run.heard(2);
    expect(run.content.get('c')).toMatchObject({ metadata: { x: 'a\u2028b€' } });
  });

  test('a sink that throws does not stop the stream', async () => {
    const watch = openWatch();
    server.script.push(list(10, ['a']), watch.answer);
    const seen: string[] = [];
    const note = (what: string) => () => {
      seen.push(what);
      throw new Error(`broken ${what}`);
    };
    const run = start({ sink: { replace: note('replace'), set: note('set'), remove: note('remove') } });
    await watch.send(added('c', 12), { type: 'DELETED', object: thing('c', 13) });
    await until(() => seen.length === 3, 'all arrived');
    expect(seen).toEqual(['replace', 'set', 'remove']);
    expect(run.errors).toEqual(seen.map((what) => new Error(`broken ${what}`)));
    expect(run.restarts).toEqual([]);
  });

  test('an event of an unknown type and an object without a name are passed over or on', async () => {
    const { run, watch } = await filled();
    await watch.send({ type: 'SOMETHING', object: {} }, { type: 'MODIFIED', object: null }, added('c', 14));
    await run.heard(2);
    expect(run.errors).toHaveLength(1);
    expect(run.told).toEqual(['replace a b', 'set c']);
  });

  test('a line that is not an event makes it resume', async () => {
    const { run, watch } = await filled();
    (await watch.opened).write('<html>\n');
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'error', error: { reason: 'InvalidResponse' } });
  });

  test('a line without end is cut off', { timeout: 20_000 }, async () => {
    const { run, watch } = await filled();
    const response = await watch.opened;
    const piece = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 18; n += 1) response.write(piece);
    await run.restarted(1);
    expect(run.restarts[0]).toMatchObject({ reason: 'error', error: { reason: 'ResponseTooLarge' } });
    expect(run.restarts[0]?.error).toBeInstanceOf(ApiError);
  });
});

describe('stop', () => {
  test('ends an open watch and a wait, without a restart', async () => {
    const { run, watch } = await filled();
    run.stop.abort();
    await run.done;
    expect(run.restarts).toEqual([]);
    server.script.push(failure(500, 'InternalError'));
    const other = start();
    await other.restarted(1);
    other.stop.abort();
    await other.done;
    await until(watch.isCut, 'the watch was closed');
  });

  test('before the answer, and before the start', async () => {
    server.script.push(() => {});
    const run = start();
    await query(0);
    run.stop.abort();
    await run.done;
    await reflect({
      client: server.client(),
      path: PATH,
      sink: { replace() {}, set() {}, remove() {} },
      signal: AbortSignal.abort(),
    });
    expect(server.calls).toHaveLength(1);
  });
});

test.each(['list', 'stream'])(
  '100,000 objects of a %s do not block the event loop',
  { timeout: 30_000 },
  async (way) => {
    const isList = way === 'list';
    if (!isList) server.script.push(failure(422, 'Invalid'));
    server.script.push((_, response) => {
      response.writeHead(200);
      if (isList) response.write('{"items":[');
      let n = 0;
      const more = () => {
        while (n < 100_000) {
          let text = '';
          for (const end = n + 500; n < end; n += 1) {
            const object = thing(`thing-${n}`, n + 1);
            text += isList
              ? `${n === 0 ? '' : ','}${JSON.stringify(object)}`
              : `${JSON.stringify({ type: 'ADDED', object })}\n`;
          }
          if (!response.write(text)) return response.once('drain', more);
        }
        if (isList) return response.end('],"metadata":{"resourceVersion":"100001"}}');
        return response.write(`${JSON.stringify(initialEnd(100_001))}\n`);
      };
      more();
    });
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    let count = 0;
    const run = start({
      sink: {
        replace(objects) {
          count = objects.length;
        },
        set() {},
        remove() {},
      },
    });
    if (!isList) {
      await run.restarted(1);
      await run.clock.advance(800);
    }
    const deadline = performance.now() + 20_000;
    while (count === 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 10));
    delay.disable();
    expect(count).toBe(100_000);
    expect(delay.max / 1e6).toBeLessThan(400);
  },
);

test('lists wait for their turn, watches do not', async () => {
  const inTurn = limitInFlight(2);
  let open = 0;
  let most = 0;
  const watches: string[] = [];
  server.otherwise((call, response) => {
    if (call.query.has('watch')) {
      watches.push(call.path);
      return openWatch().answer(call, response);
    }
    open += 1;
    most = Math.max(most, open);
    setTimeout(() => {
      open -= 1;
      list(1, [])(call, response);
    }, 20);
  });
  const paths = Array.from({ length: 6 }, (_, number) => `${PATH}${number}`);
  for (const path of paths) start({ path, inTurn });
  await until(() => watches.length === paths.length, 'all are watched');
  expect(most).toBe(2);
  expect(watches.sort()).toEqual(paths);
});
