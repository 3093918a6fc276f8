import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readBody } from '../../../../src/gateway/admission/body.ts';
import { BufferBudget } from '../../../../src/gateway/admission/buffer-budget.ts';
import { LargeWork } from '../../../../src/gateway/thread/large-work.ts';
import { Deadlines } from '../../../../src/upstream/deadlines.ts';

const mib = 1024 * 1024;
const limits = { bodyBytes: 8 * mib, bodyIdleMs: 10_000, bodyTotalMs: 10_000 };
const deadlines = new Deadlines();

/** Reads a compressed body, and notes how much memory is taken while the thread decodes it. */
async function read(budget: BufferBudget, decodedBytes: number) {
  const socket = new Socket();
  const request = new IncomingMessage(socket);
  request.headers['content-encoding'] = 'gzip';
  request.push(gzipSync(Buffer.alloc(decodedBytes, 'x')));
  request.push(null);
  request.complete = true;
  const work = new LargeWork();
  const seen: number[] = [];
  const run: LargeWork['run'] = (kind, owned, begin) =>
    work.run(kind, owned, () => {
      const lent = begin();
      seen.push(budget.used);
      return lent;
    });
  const watched = { run, close: () => work.close() } as LargeWork;
  const body = readBody(request, limits, budget.of('key'), deadlines, watched);
  return { seen, body: await body.finally(() => work.close()).catch((error: unknown) => error), socket };
}

test('the memory for a decoded body is taken before the thread decodes it, and what it does not need is given back', async () => {
  const budget = new BufferBudget(100 * mib);
  const { seen, body } = await read(budget, 3 * mib);
  expect(body).toMatchObject({ size: 3 * mib });
  expect(seen[0]).toBeGreaterThanOrEqual(limits.bodyBytes);
  expect(budget.used).toBe(3 * mib);
});

test('with less memory than the largest body may need, smaller ones are still decoded', async () => {
  const budget = new BufferBudget(4 * mib);
  expect((await read(budget, 2 * mib)).body).toMatchObject({ size: 2 * mib });
  expect((await read(budget, 2 * mib)).body).toMatchObject({ code: 'key_share_exceeded' });
  expect(budget.used).toBe(2 * mib);
});

test('a body that is larger than one may be is refused for that, and nothing of it stays', async () => {
  const budget = new BufferBudget(100 * mib);
  expect((await read(budget, 9 * mib)).body).toMatchObject({ code: 'request_too_large' });
  expect(budget.used).toBe(0);
});
