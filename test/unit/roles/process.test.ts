import { expect, test } from 'vitest';
import { listenOn } from '../../../src/roles/process.ts';

/** Plays `listen`: refuses what is in `refused` by error code, and remembers what was asked. */
function machine(refused: Record<string, string>) {
  const asked: string[] = [];
  const listen = async (host: string, port: number): Promise<string> => {
    const address = `${host}:${port}`;
    asked.push(address);
    const code = refused[address] ?? refused[host];
    if (code !== undefined) throw Object.assign(new Error(`listen ${code}`), { code });
    return address;
  };
  return { asked, listen };
}

test('takes the next free port only where it may', async () => {
  const { listen } = machine({ '127.0.0.1:8080': 'EADDRINUSE', '127.0.0.1:8081': 'EADDRINUSE' });
  expect(await listenOn({ host: '127.0.0.1', port: 8080 }, true, listen)).toBe('127.0.0.1:8082');
  await expect(listenOn({ host: '127.0.0.1', port: 8080 }, false, listen)).rejects.toThrow(
    'Cannot listen on 127.0.0.1:8080: listen EADDRINUSE: another program listens there; choose another address',
  );
});

test('takes any port when eleven are busy', async () => {
  const busy = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [`127.0.0.1:${8080 + i}`, 'EADDRINUSE']),
  );
  const { asked, listen } = machine(busy);
  expect(await listenOn({ host: '127.0.0.1', port: 8080 }, true, listen)).toBe('127.0.0.1:0');
  expect(asked).toHaveLength(11);
});

test('every interface means those of IPv4 where there is no IPv6; a chosen IPv6 address does not', async () => {
  const { listen } = machine({ '::': 'EAFNOSUPPORT', '::1': 'EAFNOSUPPORT' });
  expect(await listenOn({ host: '::', port: 80 }, false, listen)).toBe('0.0.0.0:80');
  await expect(listenOn({ host: '::1', port: 80 }, false, listen)).rejects.toThrow(
    'use 127.0.0.1 or 0.0.0.0',
  );
});
