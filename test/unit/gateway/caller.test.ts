import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from 'vitest';
import { Caller } from '../../../src/gateway/caller.ts';

const fault = new Error('no');

/** A server whose first caller is given to `serve`, and the faults that were reported of it. */
async function serving(serve: (caller: Caller) => void) {
  const reported: unknown[] = [];
  const server = createServer((request, response) => {
    const internalErrors = (...report: unknown[]) => void reported.push(report);
    const limits = { answerIdleMs: 60_000, lingerMs: 10 };
    serve(
      new Caller(request, response, {
        requestId: 'req_1',
        shape: 'openai',
        lastOnConnection: () => false,
        limits,
        internalErrors,
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    reported,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const listener = {
  gone: () => {},
  drained: () => {},
  silent: () => {},
};

test.each(['gone', 'drained'] as const)(
  'what a listener’s %s throws is the listener’s to end',
  async (event) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    using server = await serving((caller) => {
      caller.listener = {
        ...listener,
        [event]: () => {
          throw fault;
        },
        failed: resolve,
      };
      caller.begin(200, []);
      while (caller.write(Buffer.alloc(65_536)));
    });
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    if (event === 'drained') socket.resume();
    else socket.once('readable', () => socket.destroy());
    expect(await promise).toBe(fault);
    socket.destroy();
  },
);

test('a record that cannot be closed keeps nothing back: the memory of the request is released', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  using server = await serving((caller) => {
    caller.record = {
      tokens: undefined,
      broke: undefined,
      conversion: undefined,
      contentBegan: () => {},
      piece: () => {},
      closed: () => {
        throw fault;
      },
    };
    caller.whenClosed(resolve);
    caller.answerJson(200, '{}');
  });
  expect(await (await fetch(`http://127.0.0.1:${server.port}`)).text()).toBe('{}');
  await promise;
  expect(server.reported).toEqual([['record', fault, 'req_1']]);
});

test('a fault with nobody to end the request breaks its connection', async () => {
  using server = await serving((caller) => {
    caller.whenClosed(() => {
      throw fault;
    });
    caller.failed(new Error('another'));
  });
  await expect(fetch(`http://127.0.0.1:${server.port}`)).rejects.toThrow();
  expect(server.reported).toHaveLength(2);
});
