import { expect, test } from 'vitest';
import { resourcePath } from '../../../src/kube/paths.ts';

const base = { group: 'example.dev', version: 'v1', plural: 'things' };

test.each([
  [{ ...base }, '/apis/example.dev/v1/things'],
  [{ ...base, namespace: 'a' }, '/apis/example.dev/v1/namespaces/a/things'],
  [{ ...base, namespace: 'a', name: 'b.c-1' }, '/apis/example.dev/v1/namespaces/a/things/b.c-1'],
  [
    { ...base, namespace: 'a', name: 'b', subresource: 'status' },
    '/apis/example.dev/v1/namespaces/a/things/b/status',
  ],
  [{ group: '', version: 'v1', plural: 'secrets', namespace: 'a' }, '/api/v1/namespaces/a/secrets'],
])('%j', (address, path) => {
  expect(resourcePath(address)).toBe(path);
});

test.each([
  [{ namespace: 'a/b' }, 'namespace "a/b" is not a DNS-1123 label'],
  [{ namespace: '' }, 'namespace "" is not'],
  [{ namespace: 'a.b' }, 'namespace "a.b" is not'],
  [{ name: '..' }, 'name ".." is not a DNS-1123 subdomain'],
  [{ name: '../../x' }, 'name "../../x" is not'],
  [{ name: 'Upper' }, 'name "Upper" is not'],
  [{ name: 'a?x=1' }, 'name "a?x=1" is not'],
  [{ name: 'a'.repeat(254) }, 'is not a DNS-1123 subdomain'],
  [{ namespace: 'a'.repeat(64) }, 'is not a DNS-1123 label'],
])('refuses %j', (more, message) => {
  expect(() => resourcePath({ ...base, ...more })).toThrow(message);
});
