import { afterAll, expect, test } from 'vitest';
import { Pools } from '../../../src/upstream/pools.ts';
import { send } from '../../../src/upstream/send.ts';
import { answer, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { chat, connectionTo, exchange } from './exchanges.ts';

const pools = new Pools({ rules: { allowLoopback: true } });
afterAll(() => pools.destroy());

test.each([
  ['onResponse', answer('body')],
  ['onData', answer('body')],
  ['onEnd', answer('body')],
  ['onError', 'no HTTP\r\n\r\n'],
] as const)('what %s throws ends its own exchange, and is given back', async (callback, bytes) => {
  await using server = await scriptedUpstream((socket) => void socket.write(bytes));
  await using honest = await scriptedUpstream((socket) => void socket.write(answer('body')));
  const connection = connectionTo(server.port);
  const fault = new Error('no');
  const called: string[] = [];
  const failed = new Promise((resolve) => {
    const call = (name: string) => () => {
      called.push(name);
      if (name === callback) throw fault;
    };
    send(pools.pool(callback, connection), connection, chat, {
      onResponse: call('onResponse'),
      onData: call('onData'),
      onEnd: call('onEnd'),
      onError: call('onError'),
      failed: resolve,
    });
  });
  const beside = exchange(pools.pool('honest', connectionTo(honest.port)), connectionTo(honest.port));
  expect(await failed).toBe(fault);
  expect(called.at(-1)).toBe(callback);
  await beside.finished;
  expect(beside).toMatchObject({ body: 'body', ended: 1, faults: [] });
});
