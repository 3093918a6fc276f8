import type { ServerResponse } from 'node:http';
import type { Live } from './live.ts';
import type { LiveChanges, Row } from './shapes.ts';

/** How long changes are collected, so that thousands of them are sent as a few events. */
const gatherMs = 100;
const heartbeatMs = 5_000;

/**
 * Sends the live state and then its changes to one page as server-sent events, until the page disconnects or `mayStay`,
 * which is called now and then, returns that its session has ended. A page that reads slowly gets the newest state of what
 * changed in one event, not each step, so nothing queues up. An error ends this stream alone and is passed to `onFailure`,
 * because the process (in standalone mode the worker thread) also serves other pages.
 *
 * @returns a function that ends the stream in favour of another page of the browser, and notifies the page
 */
export function sendChanges(
  live: Live,
  response: ServerResponse,
  mayStay: () => boolean,
  onFailure: (error: unknown) => void,
): () => void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const set = new Map<string, Row>();
  const removed = new Map<string, LiveChanges['removed'][number]>();
  let facts: Pick<LiveChanges, 'problems' | 'old' | 'manifests'> | undefined;
  let timer: NodeJS.Timeout | undefined;
  // What changes while the state is read comes after it.
  let begun = false;
  let hasLeft = false;

  const leave = (isReading = response.writableLength === 0): void => {
    hasLeft = true;
    unsubscribe();
    clearInterval(heartbeat);
    clearTimeout(timer);
    // A page that does not read never receives the end. Writing to it after the end would end the process.
    if (isReading) response.end();
    else response.destroy();
  };
  const fail = (error: unknown): void => {
    leave();
    onFailure(error);
  };
  const send = (event: string, data: unknown): void => {
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const flush = (): void => {
    timer = undefined;
    if (response.writableNeedDrain) {
      response.once('drain', schedule);
      return;
    }
    try {
      send('changes', { set: [...set.values()], removed: [...removed.values()], ...facts });
      set.clear();
      removed.clear();
    } catch (error) {
      fail(error);
    }
  };
  const schedule = (): void => {
    if (begun && !hasLeft) timer ??= setTimeout(flush, gatherMs);
  };
  const unsubscribe = live.subscribe((change) => {
    for (const row of change.set) {
      const id = `${row.kind} ${row.namespace}/${row.name}`;
      set.set(id, row);
      removed.delete(id);
    }
    for (const gone of change.removed) {
      const id = `${gone.kind} ${gone.namespace}/${gone.name}`;
      removed.set(id, gone);
      set.delete(id);
    }
    facts = { problems: change.problems, old: change.old, manifests: change.manifests };
    schedule();
  });
  const heartbeat = setInterval(() => {
    if (mayStay()) response.write(': still here\n\n');
    else leave();
  }, heartbeatMs);
  const begin = async (): Promise<void> => {
    const state = await live.state();
    if (hasLeft) return;
    begun = true;
    send('state', state);
    if (facts !== undefined) schedule();
  };
  response.on('close', () => leave());
  response.write('retry: 1000\n\n');
  begin().catch(fail);
  return () => {
    if (hasLeft) return;
    const isReading = response.writableLength === 0;
    if (isReading) send('paused', {});
    leave(isReading);
  };
}
