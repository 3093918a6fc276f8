import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/kube/clock.ts';
import { listObjects, listPages } from '../../../src/kube/list.ts';
import { json, scriptedServer } from './scripted-server.ts';

const server = await scriptedServer();
afterAll(() => server.close());
server.otherwise(json({ metadata: { resourceVersion: '4', continue: 'x' }, items: [{ kind: 'Thing' }] }));
const request = { path: '/apis/x/v1/things', signal: AbortSignal.timeout(20_000) };
const wrong = { status: 0, reason: 'InvalidResponse' };

// A server that repeats itself would be read until the memory is full.
test('a list whose pages name the same page again is given up', async () => {
  const taken: unknown[] = [];
  const listing = listObjects(
    server.client(),
    { ...request, dropsManagedFields: true },
    (object) => taken.push(object),
    systemClock,
  );
  await expect(listing).rejects.toMatchObject(wrong);
  expect(taken).toHaveLength(2);
});

test('and so is one that is read page by page', async () => {
  const read = async () => {
    const pages = [];
    for await (const page of listPages(server.client(), request)) pages.push(page);
    return pages;
  };
  await expect(read()).rejects.toMatchObject(wrong);
});
