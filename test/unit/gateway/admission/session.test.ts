import { expect, test } from 'vitest';
import { inspect } from '../../../../src/gateway/admission/inspect.ts';
import { sessionOf } from '../../../../src/gateway/admission/session.ts';

const none = { promptCacheKey: undefined };
const read = (body: string) => inspect(Buffer.from(body), { restricted: false, maxDepth: 64 }).promptCacheKey;

test.each([
  [{ 'x-model-gateway-session': 'a', 'x-claude-code-session-id': 'b', session_id: 'c' }, 'a'],
  [{ 'x-claude-code-session-id': 'b', session_id: 'c' }, 'b'],
  [{ session_id: 'c' }, 'c'],
  [{ session_id: '' }, undefined],
  [{}, undefined],
])('headers %j name the session %j', (headers, session) => {
  expect(sessionOf(headers, none)).toBe(session);
});

test('a header counts before the body, and 512 characters of either', () => {
  expect(sessionOf({ session_id: 'h' }, { promptCacheKey: 'b' })).toBe('h');
  expect(sessionOf({}, { promptCacheKey: 'b'.repeat(600) })).toHaveLength(512);
  expect(sessionOf({ session_id: 'h'.repeat(600) }, none)).toHaveLength(512);
});

test.each([
  ['{"model":"m","prompt_cache_key":"abc"}', 'abc'],
  ['{"prompt_cache_key":"a\\u00e9\\"b","model":"m"}', 'aé"b'],
  ['{"model":"m","prompt":"p","parallel_tool_calls":true,"prompt_cache_kez":"x"}', undefined],
  ['{"model":"m","prompt_cache_key":null}', undefined],
  ['{"model":"m","prompt_cache_key":7}', undefined],
  ['{"model":"m","prompt_cache_key":""}', undefined],
  ['{"model":"m","prompt_cache_key":{"a":"b"}}', undefined],
  ['{"model":"m","x":{"prompt_cache_key":"abc"}}', undefined],
  ['{"model":"m","prompt_cache_key":"a","prompt_cache_key":"b"}', 'b'],
  [`{"model":"m","prompt_cache_key":"${'x'.repeat(5_000)}"}`, undefined],
])('%.60s has the cache key %.20j', (body, key) => {
  expect(read(body)).toBe(key);
});
