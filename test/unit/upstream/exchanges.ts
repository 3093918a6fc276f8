import { setTimeout as sleep } from 'node:timers/promises';
import type { UpstreamConnection } from '../../../src/upstream/connection.ts';
import type { UpstreamError } from '../../../src/upstream/error.ts';
import type { UpstreamHeaders } from '../../../src/upstream/headers.ts';
import type { Pool } from '../../../src/upstream/pool.ts';
import type { UpstreamRequest } from '../../../src/upstream/request.ts';
import { send } from '../../../src/upstream/send.ts';

/** What a handler has heard so far, and a promise for the end. */
export interface Heard {
  status: number | undefined;
  headers: UpstreamHeaders | undefined;
  readonly chunks: Buffer[];
  readonly body: string;
  ended: number;
  readonly errors: UpstreamError[];
  /** What the handler's own callbacks threw. */
  readonly faults: unknown[];
  readonly control: { pause(): void; resume(): void } | undefined;
  readonly finished: Promise<void>;
  abort(): void;
}

export const chat: UpstreamRequest = {
  method: 'POST',
  path: '/chat/completions',
  headers: ['content-type', 'application/json'],
  body: Buffer.from('{"model":"m"}'),
};

/** A connection to a loopback port with short timeouts. */
export function connectionTo(
  port: number,
  change: Partial<Omit<UpstreamConnection, 'timeouts'>> & {
    readonly timeouts?: Partial<UpstreamConnection['timeouts']>;
  } = {},
): UpstreamConnection {
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    authentication: 'Bearer',
    credential: 'planted-credential',
    headers: [],
    ...change,
    timeouts: {
      connectSeconds: 2,
      firstByteSeconds: 3,
      idleSeconds: 3,
      totalSeconds: 5,
      ...change.timeouts,
    },
  };
}

/** Sends and records all that the handler hears. */
export function exchange(
  pool: Pool,
  connection: UpstreamConnection,
  request: UpstreamRequest = chat,
  react: { onResponse?: (heard: Heard) => void; onData?: (heard: Heard, chunk: Buffer) => void } = {},
): Heard {
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const heard = {
    status: undefined as number | undefined,
    headers: undefined as UpstreamHeaders | undefined,
    chunks: [] as Buffer[],
    get body() {
      return Buffer.concat(this.chunks).toString();
    },
    ended: 0,
    errors: [] as UpstreamError[],
    faults: [] as unknown[],
    control: undefined as Heard['control'],
    finished,
    abort: () => handle.abort(),
  };
  const handle = send(pool, connection, request, {
    onResponse(status, headers, control) {
      Object.assign(heard, { status, headers, control });
      react.onResponse?.(heard);
    },
    onData(chunk) {
      heard.chunks.push(chunk);
      react.onData?.(heard, chunk);
    },
    onEnd() {
      heard.ended += 1;
      finish();
    },
    onError(error) {
      heard.errors.push(error);
      finish();
    },
    failed(error) {
      heard.faults.push(error);
      finish();
    },
  });
  return heard;
}

/** Waits until `condition` holds, looking every few milliseconds; throws after `ms`. */
export async function until(condition: () => boolean, ms = 2000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not so within ${ms} ms: ${condition}`);
    await sleep(2);
  }
}
