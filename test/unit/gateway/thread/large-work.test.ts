import { afterAll, expect, test } from 'vitest';
import { LargeWork } from '../../../../src/gateway/thread/large-work.ts';

const work = new LargeWork();
afterAll(() => work.close());

const owned = { owner: 'key', transfer: [] };
const inspected = (text: string) =>
  work.run('inspect', { pieces: [Buffer.from(text)], restricted: false, maxDepth: 100 }, owned);

test('the thread inspects a body that comes in pieces, and refuses as the event loop does', async () => {
  const pieces = ['{"mod', 'el":"m"', '}'].map((text) => Buffer.from(text));
  const result = await work.run('inspect', { pieces, restricted: false, maxDepth: 100 }, owned);
  expect(result).toMatchObject({ inspection: { model: 'm', stream: false } });
  expect(await inspected('{"model":')).toMatchObject({ error: { code: 'invalid_json' } });
});

test('what it throws fails that job, and no other', async () => {
  const wrong = work.run('inspect', { pieces: [], restricted: false, maxDepth: Number.NaN }, owned);
  const broken = work.run('decode', { pieces: [null as never], encoding: 'gzip', most: 10 }, owned);
  await expect(broken).rejects.toThrow(/null/);
  expect(await wrong).toMatchObject({ error: { code: 'invalid_json' } });
  expect(await inspected('{"model":"m"}')).toMatchObject({ inspection: { model: 'm' } });
});
