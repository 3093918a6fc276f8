import { ByteBlocks } from './byte-blocks.ts';
import type { UpstreamConnection } from './connection.ts';
import { UpstreamError } from './error.ts';
import type { UpstreamHeaders } from './headers.ts';
import type { UpstreamPath } from './paths.ts';
import type { Pool } from './pool.ts';
import { send } from './send.ts';

/** One answer to `GET /models`. */
export interface ModelsAnswer {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly body: Buffer;
  /** False if reading stopped at `maxBytes`; the body then holds the bytes up to there. */
  readonly complete: boolean;
}

/**
 * `GET {baseURL}/models` (or `path`): reads at most `maxBytes` of the body, within `timeoutMs` in all. Resolves with an
 * UpstreamError if no answer came. If `keep` is false, the body is read (so that the connection can be reused)
 * but discarded, and a body that is cut off is no error. Rejects with the signal's reason, or with an unexpected error.
 */
export function fetchModels(
  pool: Pool,
  connection: UpstreamConnection,
  limits: { readonly maxBytes: number; readonly timeoutMs: number; readonly keep: boolean },
  signal: AbortSignal,
  asked: { readonly path?: UpstreamPath; readonly query?: string } = {},
): Promise<ModelsAnswer | UpstreamError> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let answer: { status: number; headers: UpstreamHeaders } | undefined;
    const blocks = new ByteBlocks();
    let bytes = 0;
    let keep = limits.keep;
    const settle = (outcome: ModelsAnswer | UpstreamError) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      exchange.abort();
      resolve(outcome);
    };
    const finish = (complete: boolean, error: UpstreamError | undefined) => {
      if (answer !== undefined && (error === undefined || !keep)) {
        settle({ ...answer, body: blocks.take(), complete });
      } else settle(error ?? new UpstreamError('protocol', false));
    };
    const onAbort = () => {
      clearTimeout(timer);
      exchange.abort();
      reject(signal.reason);
    };
    const exchange = send(
      pool,
      connection,
      {
        method: 'GET',
        path: asked.path ?? '/models',
        // Anthropic refuses a listing without this header; other servers ignore it, and the node's own header replaces it.
        headers: ['accept', 'application/json', 'anthropic-version', '2023-06-01'],
        ...(asked.query === undefined ? {} : { query: asked.query }),
      },
      {
        onResponse(status, headers) {
          answer = { status, headers };
          // Only the status of a refusal is used.
          if (status < 200 || status > 299) keep = false;
        },
        onData(chunk) {
          bytes += chunk.length;
          if (bytes > limits.maxBytes) finish(false, undefined);
          else if (keep) blocks.add(chunk);
        },
        onEnd: () => finish(true, undefined),
        onError: (error) => finish(false, error),
        failed(error) {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          reject(error);
        },
      },
    );
    const timer = setTimeout(
      () => finish(false, new UpstreamError('total_timeout', answer !== undefined)),
      limits.timeoutMs,
    );
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
