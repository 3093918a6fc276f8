import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { Caller } from '../../../../src/gateway/answer/caller.ts';

const fault = new Error('no');

/** A server whose first caller is given to `serve`, and the faults that were reported of it. */
async function serving(serve: (caller: Caller) => void, answerIdleMs = 60_000) {
  const reported: unknown[] = [];
  const server = createServer((request, response) => {
    const internalErrors = (...report: unknown[]) => void reported.push(report);
    const limits = { answerIdleMs, keepAliveMs: 15_000, lingerMs: 10 };
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

describe('an answer that waits behind another one on its connection', () => {
  const idleMs = 200;
  const requests = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2);

  /** A caller whose second answer waits, large, until `first` is ended. */
  async function pipelined(drained: () => void) {
    const callers: Caller[] = [];
    const both = Promise.withResolvers<void>();
    const server = await serving((caller) => {
      callers.push(caller);
      if (callers.length < 2) return;
      caller.listener = { ...listener, drained, failed: both.reject };
      caller.begin(200, []);
      while (caller.write(Buffer.alloc(65_536)));
      both.resolve();
    }, idleMs);
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(requests);
    await both.promise;
    const [first, second] = callers;
    if (first === undefined || second === undefined) throw new Error('two callers were expected');
    return { server, socket, first, second };
  }

  test('has no time limit once its caller has taken what waited', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { server, socket, first, second } = await pipelined(resolve);
    using _ = server;
    socket.resume();
    first.answerJson(200, '{}');
    await promise;
    const taken = Promise.withResolvers<void>();
    second.listener = { ...listener, drained: taken.resolve, failed: taken.reject };
    while (second.write(Buffer.alloc(1024 * 1024)));
    await taken.promise;
    expect(second.request.socket.timeout).toBe(0);
    socket.destroy();
  });

  test('is cut off as any other if its caller takes nothing', async () => {
    const { server, socket, first, second } = await pipelined(() => {});
    using _ = server;
    const closed = new Promise<void>((resolve) => second.whenClosed(resolve));
    for (let i = 0; i < 100; i += 1) second.write(Buffer.alloc(1024 * 1024));
    socket.pause();
    first.answerJson(200, '{}');
    await closed;
    expect(second.gone).toBe(true);
    socket.destroy();
  });
});
