import { expect, test } from 'vitest';
import { connectError } from '../../../src/upstream/connect-error.ts';

const error = (code: string, syscall = 'connect') =>
  Object.assign(new Error(`${syscall} ${code} 10.0.0.1:443`), { code, syscall });

type Case = [name: string, cause: unknown, connected: boolean, code: string, detail: string | undefined];

test.each<Case>([
  ...['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'].map(
    (code): Case => [`our own ${code}`, error(code), false, 'local', code],
  ),
  ['descriptors that a look-up lacks', error('EMFILE', 'getaddrinfo'), false, 'local', 'EMFILE'],
  ['memory that a look-up lacks', error('EAI_MEMORY', 'getaddrinfo'), false, 'local', 'EAI_MEMORY'],
  ['all addresses', new AggregateError([error('EMFILE'), error('EADDRNOTAVAIL')]), false, 'local', 'EMFILE'],
  [
    'IPv6 that is off beside IPv4 that refuses',
    new AggregateError([error('EADDRNOTAVAIL'), error('ECONNREFUSED')]),
    false,
    'connect_refused',
    'EADDRNOTAVAIL',
  ],
  ['a refusal', error('ECONNREFUSED'), false, 'connect_refused', 'ECONNREFUSED'],
  ['a name', error('ENOTFOUND', 'getaddrinfo'), false, 'dns', 'ENOTFOUND'],
  ['TLS', error('ERR_SSL_WRONG_VERSION_NUMBER'), true, 'tls', 'ERR_SSL_WRONG_VERSION_NUMBER'],
  ['a code that is a text of somebody', error('secret 10.0.0.1'), false, 'connect_refused', undefined],
  ['nothing', undefined, false, 'connect_refused', undefined],
])('%s', (_name, cause, connected, code, detail) => {
  const made = connectError(cause, connected);
  expect(made).toMatchObject({ code, detail, answered: false });
  expect(made.message).not.toContain('10.0');
});
