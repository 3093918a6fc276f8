import { Agent, request } from 'node:http';

/** What a caller got: status, the name of the node, and how long it took. */
export interface Answered {
  readonly status: number;
  readonly node: string;
  readonly milliseconds: number;
  readonly retryAfter: string | undefined;
}

/** Callers of one gateway, over connections that stay open. */
export interface CallerPool extends Disposable {
  /** Sends one chat request. `aborted` ends it. */
  ask(
    members: Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
    aborted?: AbortSignal,
  ): Promise<Answered>;
}

/** Makes callers with the key `key` of the gateway on `port`. */
export function callerPool(port: number, key: string): CallerPool {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  return {
    ask(members, headers = {}, aborted) {
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...members });
      const began = performance.now();
      return new Promise((resolve, reject) => {
        const asked = request({
          ...{ agent, port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' },
          ...(aborted === undefined ? {} : { signal: aborted }),
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            ...headers,
          },
        });
        asked.on('error', reject);
        asked.on('response', (response) => {
          response.on('error', reject);
          response.on('end', () => {
            const node = response.headers['x-model-gateway-node'];
            resolve({
              status: response.statusCode ?? 0,
              node: typeof node === 'string' ? node.slice(node.indexOf('/') + 1) : '',
              milliseconds: performance.now() - began,
              retryAfter: response.headers['retry-after'],
            });
          });
          response.resume();
        });
        asked.end(body);
      });
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** Runs `act` for each item, `width` at a time, and returns the results in the items' order. */
export async function eachOf<T, R>(
  items: readonly T[],
  width: number,
  act: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await act(items[at] as T);
  };
  await Promise.all(Array.from({ length: width }, work));
  return results;
}
