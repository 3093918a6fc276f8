import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../../src/kube/client.ts';
import { type LeaderElectionOptions, type Leadership, runLeaderElection } from '../../../src/kube/lease.ts';
import { fakeClock } from './fake-clock.ts';
import { type Call, failure, json, type ScriptedServer, scriptedServer } from './scripted-server.ts';
import { until } from './until.ts';

interface Stored {
  metadata: { resourceVersion: string };
  spec: Record<string, unknown>;
}

let server: ScriptedServer;
let stops: (() => Promise<void>)[] = [];
let lease: Stored | undefined;
let version = 0;
beforeEach(async () => {
  server = await scriptedServer();
  lease = undefined;
  version = 0;
  server.otherwise((call, response) => leaseApi(call)(call, response));
});
afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
  await server.close();
});

/** What the API server does with one Lease: optimistic concurrency on resourceVersion. */
function leaseApi(call: Call) {
  const body = call.body as Stored | undefined;
  if (call.method === 'POST') {
    if (lease !== undefined) return failure(409, 'AlreadyExists');
    return json(store(body));
  }
  if (lease === undefined) return failure(404, 'NotFound');
  if (call.method === 'GET') return json(lease);
  if (body?.metadata.resourceVersion !== lease.metadata.resourceVersion) return failure(409, 'Conflict');
  return json(store(body));
}

function store(body: Stored | undefined) {
  version += 1;
  lease = {
    ...body,
    metadata: { ...body?.metadata, resourceVersion: String(version) },
    spec: body?.spec ?? {},
  };
  return lease;
}

const heldBy = (holderIdentity: string, leaseDurationSeconds = 15) =>
  store({
    metadata: { resourceVersion: '' },
    spec: {
      holderIdentity,
      leaseDurationSeconds,
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 3,
    },
  });

function candidate(identity: string, options: Partial<LeaderElectionOptions> = {}, clock = fakeClock()) {
  const stop = new AbortController();
  const seen: string[] = [];
  const errors: unknown[] = [];
  let leadership: Leadership | undefined;
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { request, ...client } = server.client({ clock });
  let busy = 0;
  const count = async (call: ApiRequest) => {
    busy += 1;
    try {
      return await request(call);
    } finally {
      busy -= 1;
    }
  };
  const done = runLeaderElection({
    client: { ...client, request: count },
    namespace: 'home',
    name: 'leader',
    identity,
    signal: stop.signal,
    clock,
    random: () => 0,
    async onStartedLeading(given) {
      seen.push('leads');
      leadership = given;
      given.signal.addEventListener('abort', () => seen.push('told to stop'));
      await finished;
      seen.push('ended');
    },
    onLost: () => seen.push('lost'),
    onNewLeader: (holder) => seen.push(`sees ${holder}`),
    onError: (error) => errors.push(error),
    ...options,
  });
  done.catch(() => {});
  stops.push(async () => {
    stop.abort();
    finish();
    await done.catch(() => {});
  });
  return {
    clock,
    request,
    stop,
    seen,
    errors,
    done,
    finish,
    leadership: () => until(() => leadership, `${identity} leads`),
    /** Lets `ms` pass in steps; the calls of each step are waited for, yet not for ever: some are never answered. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 500) {
        await clock.advance(Math.min(left, 500));
        const deadline = performance.now() + 40;
        do await new Promise((resolve) => setImmediate(resolve));
        while (busy > 0 && performance.now() < deadline);
      }
    },
  };
}

const puts = () => server.calls.filter((call) => call.method === 'PUT').length;

describe('taking', () => {
  test('a lease that does not exist', async () => {
    const a = candidate('a');
    const leadership = await a.leadership();
    expect(leadership.isValid()).toBe(true);
    expect(lease?.spec).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(lease?.spec['acquireTime']).toMatch(/^2026-01-01T00:00:\d\d\.\d{6}Z$/);
    expect(server.calls[1]?.path).toBe('/apis/coordination.k8s.io/v1/namespaces/home/leases');
  });

  test('one that was released, at once', async () => {
    heldBy('', 1);
    await candidate('a').leadership();
    expect(lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 4 });
  });

  test('one whose holder is gone, 15 s after it was first seen, whatever its times say', async () => {
    heldBy('b');
    const a = candidate('a');
    await until(() => a.seen.length, 'b was seen');
    await a.pass(14_000);
    expect(a.seen).toEqual(['sees b']);
    await a.pass(3_000);
    expect(a.seen).toEqual(['sees b', 'leads']);
    expect(lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 4 });
  });

  test('one that says it lasts for years, after an hour', async () => {
    heldBy('b', 2_147_483_647);
    const a = candidate('a');
    await until(() => a.seen.length, 'b was seen');
    await a.pass(3_590_000);
    expect(a.seen).toEqual(['sees b']);
    await a.pass(20_000);
    expect(a.seen).toEqual(['sees b', 'leads']);
  });

  test('but not one that its holder renews', async () => {
    heldBy('b');
    const a = candidate('a');
    await until(() => a.seen.length, 'b was seen');
    for (let n = 0; n < 5; n += 1) {
      await a.pass(5_000);
      heldBy('b');
      if (lease) lease.spec['renewTime'] = `2026-01-01T00:00:0${n}.000000Z`;
    }
    expect(a.seen).toEqual(['sees b']);
    expect(puts()).toBe(0);
  });

  test('a 409 means that someone else won', async () => {
    const a = candidate('a');
    server.script.push(failure(404, 'NotFound'), (call, response) => {
      heldBy('b');
      failure(409, 'AlreadyExists')(call, response);
    });
    await until(() => a.seen.length, 'b was seen');
    await a.pass(4_000);
    expect(a.seen).toEqual(['sees b']);
  });

  test('an API server in trouble is asked again', async () => {
    server.script.push(failure(500, 'InternalError'), failure(403, 'Forbidden'));
    const a = candidate('a');
    await until(() => a.errors.length, 'the first error');
    await a.pass(4_500);
    await a.leadership();
    expect(a.errors).toMatchObject([{ status: 500 }, { status: 403 }]);
  });
});

describe('holding', () => {
  test('renews every two seconds and keeps the acquire time and unknown fields', async () => {
    heldBy('', 1);
    if (lease) lease.spec['strategy'] = 'OldestEmulationVersion';
    const a = candidate('a');
    await a.leadership();
    const first = lease?.spec;
    await a.pass(9_000);
    expect(puts()).toBeGreaterThanOrEqual(4);
    expect(lease?.spec).toMatchObject({
      acquireTime: first?.['acquireTime'],
      leaseTransitions: 4,
      strategy: 'OldestEmulationVersion',
    });
    expect(lease?.spec['renewTime']).not.toBe(first?.['renewTime']);
    await a.pass(30_000);
    expect(a.seen).toEqual(['leads']);
  });

  test('a renewal that never answers loses the lease 10 s after the last that did', async () => {
    const a = candidate('a');
    const leadership = await a.leadership();
    server.otherwise(() => {});
    await a.pass(9_900);
    expect(a.seen).toEqual(['leads']);
    expect(leadership.isValid()).toBe(true);
    await a.pass(200);
    expect(a.seen).toEqual(['leads', 'told to stop', 'lost']);
    expect(leadership.isValid()).toBe(false);
    expect(leadership.signal.aborted).toBe(true);
    a.finish();
    expect(await a.done).toBe('lost');
    expect(lease?.spec['holderIdentity']).toBe('a');
  });

  test('so does one after others that succeeded', async () => {
    const a = candidate('a');
    await a.leadership();
    await a.pass(5_000);
    server.otherwise(() => {});
    await a.pass(9_500);
    expect(a.seen).toContain('lost');
  });

  test('does not wait behind slow calls of others', async () => {
    const a = candidate('a');
    await a.leadership();
    server.otherwise((call, response) => {
      if (call.path !== '/slow') leaseApi(call)(call, response);
    });
    const stop = new AbortController();
    const slow = Array.from({ length: 12 }, () =>
      a.request({ method: 'GET', path: '/slow', signal: stop.signal }),
    );
    await a.pass(12_000);
    expect(a.seen).toEqual(['leads']);
    stop.abort();
    await Promise.allSettled(slow);
  });

  test('errors for less than 10 s lose nothing', async () => {
    const a = candidate('a');
    await a.leadership();
    server.otherwise(failure(500, 'InternalError'));
    await a.pass(7_000);
    server.otherwise((call, response) => leaseApi(call)(call, response));
    await a.pass(20_000);
    expect(a.seen).toEqual(['leads']);
    expect(a.errors.length).toBeGreaterThan(2);
  });

  test('a stalled event loop is noticed before a write, though no timer has fired', async () => {
    const a = candidate('a');
    const leadership = await a.leadership();
    a.clock.stall(10_001);
    expect(leadership.isValid()).toBe(false);
    expect(leadership.signal.aborted).toBe(false);
    await a.pass(100);
    expect(leadership.signal.aborted).toBe(true);
    expect(a.seen).toContain('lost');
  });

  test('a lease that another took is lost at once', async () => {
    const a = candidate('a');
    await a.leadership();
    heldBy('b');
    await a.pass(2_500);
    expect(a.seen).toEqual(['leads', 'sees b', 'told to stop', 'lost']);
  });

  test('a write of ours whose answer was lost does not', async () => {
    const a = candidate('a');
    await a.leadership();
    server.script.push((call) => {
      leaseApi(call);
      call.socket.destroy();
    });
    await a.pass(12_000);
    expect(a.seen).toEqual(['leads']);
    expect(a.errors).toHaveLength(1);
  });

  test('a lease that was deleted is made anew', async () => {
    const a = candidate('a');
    await a.leadership();
    lease = undefined;
    await a.pass(5_000);
    expect(lease).toMatchObject({ spec: { holderIdentity: 'a' } });
    expect(a.seen).toEqual(['leads']);
  });
});

describe('stopping', () => {
  test('waits for the work, renews meanwhile, then releases', async () => {
    const a = candidate('a');
    await a.leadership();
    a.stop.abort();
    const before = puts();
    await a.pass(12_000);
    expect(a.seen).toEqual(['leads', 'told to stop']);
    expect(puts()).toBeGreaterThan(before + 3);
    expect(lease?.spec['holderIdentity']).toBe('a');
    a.finish();
    expect(await a.done).toBe('stopped');
    expect(lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  });

  test('before leading resolves at once', async () => {
    heldBy('b');
    const a = candidate('a');
    await until(() => a.seen.length, 'b was seen');
    a.stop.abort();
    expect(await a.done).toBe('stopped');
    expect(lease?.spec['holderIdentity']).toBe('b');
  });

  test('work that fails gives the lease up and its error on', async () => {
    const a = candidate('a', {
      onStartedLeading: async () => {
        throw new Error('broken');
      },
    });
    await expect(a.done).rejects.toThrow('broken');
    expect(lease?.spec['holderIdentity']).toBe('');
  });
});

test('of two candidates one leads, and the other takes over when it stops', async () => {
  const clock = fakeClock();
  const a = candidate('a', {}, clock);
  const b = candidate('b', {}, clock);
  await until(() => [...a.seen, ...b.seen].includes('leads'), 'one leads');
  await a.pass(40_000);
  const all = [...a.seen, ...b.seen].filter((event) => event === 'leads');
  expect(all).toHaveLength(1);
  const [first, second] = a.seen.includes('leads') ? [a, b] : [b, a];
  first.stop.abort();
  first.finish();
  expect(await first.done).toBe('stopped');
  await second.pass(3_000);
  expect(second.seen).toContain('leads');
  expect(lease?.spec['leaseTransitions']).toBe(1);
});
