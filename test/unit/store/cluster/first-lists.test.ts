import { expect, test } from 'vitest';
import { ApiError } from '../../../../src/kube/api-error.ts';
import { FirstLists } from '../../../../src/store/cluster/first-lists.ts';

test('names what is missing until it is in', async () => {
  const lists = new FirstLists();
  const nodes = lists.wait('UpstreamNode', 'team');
  const keys = lists.wait('APIKey', undefined);
  expect(lists.missing()).toBe('UpstreamNode in namespace team, APIKey in all namespaces');
  nodes.filled();
  await nodes.done;
  expect(lists.missing()).toBe('APIKey in all namespaces');
  keys.filled();
  keys.failed(new ApiError(500, 'InternalError', 'later'));
  expect(lists.missing()).toBeUndefined();
});

test.each<[string, unknown, string]>([
  [
    'away',
    new ApiError(0, 'Unreachable', 'secret text', {
      cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    }),
    'the API server gave no usable answer (Unreachable, ECONNREFUSED)',
  ],
  [
    'forbidden',
    new ApiError(403, 'Forbidden', 'secret text'),
    'the API server answered 403 (Forbidden); grant the service account "get", "list" and "watch" on it',
  ],
  [
    'no CRDs',
    new ApiError(404, 'NotFound', 'secret text'),
    'the API server answered 404 (NotFound); apply the CRDs',
  ],
  ['a strange word', new ApiError(500, 'secret text\n', ''), 'the API server answered 500'],
  ['a fault of ours', new Error('secret text'), 'it failed unexpectedly; the log says how'],
])('says the last failure: %s', (_, error, text) => {
  const lists = new FirstLists();
  const { failed } = lists.wait('APIKey', 'team');
  failed(new ApiError(429, 'TooManyRequests', ''));
  failed(error);
  expect(lists.missing()).toBe(`APIKey in namespace team; last failure, of APIKey: ${text}`);
});

test('is short however many there are', () => {
  const lists = new FirstLists();
  for (let number = 0; number < 300; number += 1) lists.wait('APIKey', `team-${number}`);
  expect(lists.missing()).toBe(
    'APIKey in namespace team-0, APIKey in namespace team-1, APIKey in namespace team-2, APIKey in namespace team-3 and 296 more',
  );
});
