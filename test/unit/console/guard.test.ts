import { describe, expect, test } from 'vitest';
import { hostsOf, isLoopback, refusal, securityHeaders } from '../../../src/console/guard.ts';

const hosts = hostsOf('127.0.0.1', 4000, []);
const ours = {
  method: 'POST',
  host: '127.0.0.1:4000',
  origin: 'http://127.0.0.1:4000',
  fetchSite: 'same-origin',
};

describe('refusal', () => {
  test.for([
    ['our own page', {}, undefined],
    [
      'our own page by another name of this machine',
      { host: 'localhost:4000', origin: 'http://localhost:4000' },
      undefined,
    ],
    ['an address that is opened', { method: 'GET', origin: undefined, fetchSite: 'none' }, undefined],
    ['a link from elsewhere', { method: 'GET', origin: undefined, fetchSite: 'cross-site' }, undefined],
    ['a program without fetch metadata', { fetchSite: undefined }, undefined],
    ['no host', { host: undefined }, /not reached by this name/],
    [
      'a name that was made to resolve here',
      { host: 'evil.example:4000', origin: 'http://evil.example:4000' },
      /not reached by this name/,
    ],
    ['the right name on another port', { host: '127.0.0.1:4001' }, /not reached by this name/],
    ['the name without its port', { host: '127.0.0.1' }, /not reached by this name/],
    ['a form of another site', { fetchSite: 'cross-site' }, /another site/],
    ['another port of this machine', { fetchSite: 'same-site' }, /another site/],
    ['another origin', { origin: 'http://127.0.0.1:5000' }, /another origin/],
    ['another origin that reads', { method: 'GET', origin: 'https://evil.example' }, /another origin/],
    ['an origin that is hidden', { origin: 'null' }, /another origin/],
    ['https for http', { origin: 'https://127.0.0.1:4000' }, /another origin/],
    ['a change without an origin', { origin: undefined }, /names no origin/],
    [
      'a change of another kind without an origin',
      { method: 'DELETE', origin: undefined },
      /names no origin/,
    ],
  ] as const)('%s', ([, changed, reason]) => {
    const said = refusal({ ...ours, ...changed }, hosts, 'http');
    if (reason === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(reason);
  });
});

test('names of a console that others reach are those that were given, and none of this machine alone', () => {
  expect([...hostsOf('0.0.0.0', 443, ['console.example'])]).toEqual(['console.example:443', '0.0.0.0:443']);
  expect([...hostsOf('::1', 80, [])]).toContain('[::1]:80');
});

test.for([
  ['127.0.0.1', true],
  ['127.8.9.1', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['127.0.0.1.evil.example', false],
  ['', false],
] as const)('%s is reached by this machine alone: %s', ([host, expected]) => {
  expect(isLoopback(host)).toBe(expected);
});

test('nothing inline and nothing from elsewhere', () => {
  const policy = securityHeaders['content-security-policy'] ?? '';
  expect(policy.split('; ')).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
});
