import { readdirSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { LargeWork } from '../../../../src/gateway/thread/large-work.ts';
import { eventually } from '../../../support/eventually.ts';

const work = new LargeWork();
afterAll(() => work.close());

const owned = { owner: 'key', bytes: 300_000 };
const body = (...texts: string[]) => ({
  wish: {
    pieces: texts.map((text) => Buffer.from(text)),
    options: { restricted: false, maxDepth: 100, form: undefined },
  },
  transfer: [],
});
const inspected = (text: string, by = work) => by.run('inspect', owned, () => body(text));

test('the thread inspects a body that comes in pieces, and refuses as the event loop does', async () => {
  const result = await work.run('inspect', owned, () => body('{"mod', 'el":"m"', '}'));
  expect(result).toMatchObject({ inspection: { model: 'm', stream: false } });
  expect(await inspected('{"model":')).toMatchObject({ error: { code: 'invalid_json' } });
});

test('what it throws fails that job, and no other', async () => {
  const broken = work.run('decode', owned, () => ({
    wish: { pieces: [null as never], encoding: 'gzip', most: 10 },
    transfer: [],
  }));
  await expect(broken).rejects.toThrow(/null/);
  expect(await inspected('{"model":"m"}')).toMatchObject({ inspection: { model: 'm' } });
});

test('a job that nobody waits for any more when its turn comes is not done', async () => {
  const order: string[] = [];
  const left = new Error('the caller left');
  const jobs = ['first', 'second', 'third'].map((name) =>
    work.run('inspect', owned, () => {
      order.push(name);
      if (name === 'second') throw left;
      return body('{"model":"m"}');
    }),
  );
  // Each begins when the one before it is done.
  expect(order).toEqual(['first']);
  await expect(jobs[1]).rejects.toBe(left);
  expect(await jobs[2]).toMatchObject({ inspection: { model: 'm' } });
});

test('what is huge does not keep the others waiting', async () => {
  await inspected('{"model":"m"}');
  const order: string[] = [];
  const text = `{"model":"m","x":"${'x'.repeat(30_000_000)}"}`;
  const done = (name: string) => () => void order.push(name);
  const huge = [1, 2, 3].map(() =>
    work.run('inspect', { owner: 'greedy', bytes: text.length }, () => body(text)).then(done('huge')),
  );
  await huge[0];
  await Promise.all([inspected('{"model":"m"}').then(done('large')), ...huge]);
  expect(order.at(-1)).toBe('huge');
});

describe('a thread', () => {
  const counts = { began: [] as string[], lost: 0 };
  const metrics = { began: (kind: string) => void counts.began.push(kind), lost: () => void counts.lost++ };

  test('that takes too long for a job is terminated; that job fails, and the next has a thread of its own', async () => {
    // Shorter than any thread takes to start.
    const impatient = new LargeWork({ metrics, longestMs: 1 });
    const jobs = [inspected('{"model":"m"}', impatient), inspected('{"model":"m"}', impatient)];
    for (const job of jobs) await expect(job).rejects.toThrow('work on a large body took too long');
    expect(counts).toEqual({ began: ['inspect', 'inspect'], lost: 2 });
    await impatient.close();
  });

  test('that ends with the gateway fails the job that it does, and those that wait', async () => {
    const closing = new LargeWork();
    const jobs = [inspected('{"model":"m"}', closing), inspected('{"model":"m"}', closing)];
    const failed = Promise.all(jobs.map((job) => expect(job).rejects.toThrow('the gateway is stopping')));
    await closing.close();
    await failed;
  });

  test.runIf(process.platform === 'linux')(
    'without work ends, and begins again with the next job',
    async () => {
      const threads = () => readdirSync('/proc/self/task').length;
      const before = threads();
      const idle = new LargeWork({ idleMs: 1 });
      for (const _ of [1, 2]) {
        expect(await inspected('{"model":"m"}', idle)).toMatchObject({ inspection: { model: 'm' } });
        await eventually('it ended', async () => threads() <= before, 5000, 5);
      }
      await idle.close();
    },
  );
});
