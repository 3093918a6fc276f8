import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { sendChanges } from '../../../src/console/changes.ts';
import type { LiveChanges, LiveState } from '../../../src/console/shapes.ts';

const nothing = { problems: {}, old: undefined, manifests: { lines: [], count: 0 } };
const none: LiveState = { rows: [], ...nothing };
/** More than the buffers of a connection hold, so that a reader that stopped leaves most of it in the process. */
const much: LiveState = { ...none, old: 'x'.repeat(30_000_000) };
const change: LiveChanges = { set: [], removed: [], ...nothing };

interface Stream {
  readonly reader: Socket;
  readonly closed: Promise<unknown>;
  readonly failures: readonly unknown[];
  subscribers(): number;
  change(change: LiveChanges): void;
}

/** Opens a live stream over loopback. The reader stops at the first byte until the test resumes it. */
async function withStream(
  state: () => Promise<LiveState>,
  judge: (stream: Stream) => Promise<void>,
  mayStay = () => true,
): Promise<void> {
  const listeners = new Set<(change: LiveChanges) => void>();
  const failures: unknown[] = [];
  let hasBegun = false;
  const live = {
    state,
    declared: () => Promise.resolve([]),
    subscribe(listener: (change: LiveChanges) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const server = createServer((_request, response) => {
    sendChanges(live, response, mayStay, (error) => failures.push(error));
    hasBegun = true;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1');
  try {
    reader.on('error', () => {});
    const closed = new Promise((resolve) => reader.once('close', resolve));
    reader.once('data', () => reader.pause());
    reader.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await expect.poll(() => hasBegun).toBe(true);
    await judge({
      reader,
      closed,
      failures,
      subscribers: () => listeners.size,
      change: (one) => {
        for (const listener of listeners) listener(one);
      },
    });
  } finally {
    reader.destroy();
    server.closeAllConnections();
    server.close();
  }
}

test('a page that stopped reading and whose session ended is left at once, and what changes then is not written to it', async () => {
  const ended = async ({ reader, closed, subscribers, change: tell }: Stream): Promise<void> => {
    await expect.poll(subscribers, { timeout: 20_000 }).toBe(0);
    tell(change);
    reader.resume();
    await closed;
  };
  await withStream(
    () => Promise.resolve(much),
    ended,
    () => false,
  );
});

test.each([
  ['cannot be read', () => Promise.reject(new Error('no state'))],
  ['cannot be written', () => Promise.resolve({ ...none, old: 1n } as unknown as LiveState)],
])('a state that %s is reported, and ends this stream alone', async (_what, state) => {
  await withStream(state, async ({ reader, closed, failures, subscribers }) => {
    await expect.poll(() => failures.length).toBe(1);
    expect(subscribers()).toBe(0);
    reader.resume();
    await closed;
  });
});

test('a change that cannot be written is reported, and ends this stream alone', async () => {
  await withStream(
    () => Promise.resolve(none),
    async ({ reader, closed, failures, subscribers, change: tell }) => {
      tell({ ...change, old: 1n } as unknown as LiveChanges);
      await expect.poll(() => failures.length).toBe(1);
      expect(subscribers()).toBe(0);
      reader.resume();
      await closed;
    },
  );
});
