import { describe, expect, test } from 'vitest';
import { hostsOf, isLoopback, refusal, securityHeaders } from '../../../src/console/guard.ts';

const hosts = hostsOf('127.0.0.1', 4000, [], 'http');
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
    ['no host', { host: undefined }, /cannot be used by this name/],
    [
      'a name that was made to resolve here',
      { host: 'evil.example:4000', origin: 'http://evil.example:4000' },
      /cannot be used by this name/,
    ],
    ['the right name on another port', { host: '127.0.0.1:4001' }, /cannot be used by this name/],
    ['the name without its port', { host: '127.0.0.1' }, /cannot be used by this name/],
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
  const names = [...hostsOf('0.0.0.0', 8443, ['Console.Example'], 'https')];
  expect(names).toEqual(['console.example:8443', '0.0.0.0:8443']);
  expect([...hostsOf('::1', 4000, [], 'http')]).toContain('[::1]:4000');
});

describe('the default port of the scheme, and case', () => {
  const visit = { method: 'POST', fetchSite: undefined };
  test.for([
    // What browsers send: no default port, and lower case.
    ['https', 443, 'console.example', 'https://console.example', undefined],
    ['http', 80, 'console.example', 'http://console.example', undefined],
    ['https', 8443, 'console.example:8443', 'https://console.example:8443', undefined],
    // What programs may send.
    ['https', 443, 'console.example:443', 'https://console.example', undefined],
    ['https', 443, 'CONSOLE.Example', 'HTTPS://Console.example', undefined],
    // Another port, though it is the default of the other scheme.
    ['https', 443, 'console.example:80', 'https://console.example', /cannot be used by this name/],
    ['http', 80, 'console.example:443', 'http://console.example', /cannot be used by this name/],
    ['https', 8443, 'console.example', 'https://console.example', /cannot be used by this name/],
    ['https', 443, 'console.example', 'http://console.example', /another origin/],
    ['https', 443, 'console.example', 'https://console.example:80', /another origin/],
    ['https', 443, 'console.example.evil.example', undefined, /cannot be used by this name/],
  ] as const)('%s on %i, Host: %s, Origin: %s', ([scheme, port, host, origin, reason]) => {
    const known = hostsOf('0.0.0.0', port, ['Console.Example'], scheme);
    const said = refusal({ ...visit, host, origin }, known, scheme);
    if (reason === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(reason);
  });

  test('the printed address has no default port', () => {
    expect([...hostsOf('0.0.0.0', 443, ['console.example'], 'https')][0]).toBe('console.example');
    expect([...hostsOf('127.0.0.1', 80, [], 'http')][0]).toBe('127.0.0.1');
    expect([...hostsOf('::1', 80, [], 'http')][0]).toBe('[::1]');
  });
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
