import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createEventRecorder,
  type EventRecord,
  type EventRecorderOptions,
} from '../../../src/kube/events.ts';
import { fakeClock } from './fake-clock.ts';
import { failure, json, type ScriptedServer, scriptedServer } from './scripted-server.ts';
import { until } from './until.ts';

let server: ScriptedServer;
beforeEach(async () => {
  server = await scriptedServer();
  server.otherwise(json({}, 201));
});
afterEach(() => server.close());

function recorder(options: Partial<EventRecorderOptions> = {}) {
  const clock = fakeClock();
  const errors: unknown[] = [];
  let ids = 0;
  const events = createEventRecorder({
    client: server.client(),
    reportingController: 'example.dev/controller',
    reportingInstance: 'pod-1',
    clock,
    newId: () => {
      ids += 1;
      return `id${ids}`;
    },
    onError: (error) => errors.push(error),
    ...options,
  });
  return { ...events, clock, errors };
}

const event = (more: Partial<EventRecord> = {}): EventRecord => ({
  regarding: { apiVersion: 'example.dev/v1', kind: 'Thing', namespace: 'team', name: 'one', uid: 'u1' },
  action: 'Sync',
  reason: 'ModelsSynced',
  note: 'Found 3 models',
  type: 'Normal',
  ...more,
});

type Body = Record<string, unknown> & { note: string; metadata: { name: string; namespace: string } };
const bodies = () => server.calls.map((call) => call.body as Body);

test('writes an event as events.k8s.io wants it', async () => {
  const { record, drain } = recorder();
  const related = { apiVersion: 'v1', kind: 'Secret', namespace: 'team', name: 'key' };
  record(event({ related }));
  await drain();
  expect(server.calls).toHaveLength(1);
  expect(server.calls[0]).toMatchObject({
    method: 'POST',
    path: '/apis/events.k8s.io/v1/namespaces/team/events',
    body: {
      ...event({ related }),
      metadata: { name: 'one.id1', namespace: 'team' },
      eventTime: '2026-01-01T00:00:01.000000Z',
      reportingController: 'example.dev/controller',
      reportingInstance: 'pod-1',
    },
  });
  expect(server.calls[0]?.body).not.toHaveProperty('series');
});

test('folds repeats within ten minutes into the series of the first', async () => {
  const { record, drain, clock } = recorder();
  record(event());
  await drain();
  await clock.advance(599_000);
  record(event());
  await drain();
  await clock.advance(599_000);
  record(event());
  await drain();
  expect(server.calls.map((call) => `${call.method} ${call.path.split('/').at(-1)}`)).toEqual([
    'POST events',
    'PATCH one.id1',
    'PATCH one.id1',
  ]);
  expect(server.calls[2]?.headers['content-type']).toBe('application/merge-patch+json');
  expect(bodies()[2]).toEqual({ series: { count: 3, lastObservedTime: '2026-01-01T00:19:59.000000Z' } });
  await clock.advance(600_000);
  record(event());
  await drain();
  expect(server.calls[3]?.method).toBe('POST');
});

test('another object, reason or note is another event', async () => {
  const { record, drain } = recorder();
  record(event());
  record(event({ note: 'Found 4 models' }));
  record(event({ reason: 'Other' }));
  record(event({ regarding: { ...event().regarding, uid: 'u2' } }));
  await drain();
  expect(server.calls.map((call) => call.method)).toEqual(['POST', 'POST', 'POST', 'POST']);
});

test('a storm of repeats is a few writes with the right count', async () => {
  const { record, drain } = recorder();
  for (let n = 0; n < 500; n += 1) record(event());
  await drain();
  record(event());
  await drain();
  expect(server.calls.length).toBe(2);
  expect(bodies()[0]).toMatchObject({ series: { count: 500 } });
  expect(bodies()[1]).toMatchObject({ series: { count: 501 } });
});

test('cuts a note at 1024 bytes between characters', async () => {
  const { record, drain } = recorder();
  record(event({ note: 'é€'.repeat(1000) }));
  await drain();
  const note = bodies()[0]?.note ?? '';
  expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024);
  expect(Buffer.byteLength(note)).toBeGreaterThan(1015);
  expect(note).toMatch(/^(é€)*é?…$/);
});

test('a long name still makes a name for the event, and a cluster-scoped object goes to default', async () => {
  const { record, drain } = recorder({ newId: () => '0123456789abcdef' });
  record(
    event({ regarding: { apiVersion: 'v1', kind: 'Node', name: `${'n'.repeat(235)}.${'m'.repeat(17)}` } }),
  );
  await drain();
  expect(bodies()[0]?.metadata).toEqual({
    namespace: 'default',
    name: `${'n'.repeat(235)}.0123456789abcdef`,
  });
});

test('a failed write is said and forgotten; the next repeat is a first again', async () => {
  const { record, drain, errors } = recorder();
  server.script.push(failure(403, 'Forbidden'));
  record(event());
  await drain();
  expect(errors).toMatchObject([{ status: 403 }]);
  record(event());
  await drain();
  expect(server.calls[1]?.method).toBe('POST');
  server.script.push(failure(404, 'NotFound'));
  record(event());
  await drain();
  record(event());
  await drain();
  expect(server.calls.map((call) => call.method)).toEqual(['POST', 'POST', 'PATCH', 'POST']);
});

test('the queue is bounded', async () => {
  const stop = new AbortController();
  const { record, errors, drain } = recorder({ signal: stop.signal });
  server.otherwise(() => {});
  for (let n = 0; n < 1_010; n += 1) record(event({ note: `note ${n}` }));
  expect(errors).toHaveLength(10);
  stop.abort();
  await drain();
});

test('nothing is sent after the stop, and nothing is thrown', async () => {
  const stop = new AbortController();
  const { record, errors, drain } = recorder({ signal: stop.signal });
  server.otherwise(() => {});
  record(event());
  await until(() => server.calls.length, 'the first was sent');
  record(event({ note: 'later' }));
  stop.abort();
  await drain();
  expect(server.calls).toHaveLength(1);
  expect(errors).toEqual([]);
});
