import { errorCode } from '../observe/error-text.ts';
import { ApiError } from './api-error.ts';
import { type Clock, pause, systemClock } from './clock.ts';
import { shareConnections } from './connections.ts';
import { type ClusterConfig, type Credentials, followCredentials } from './credentials.ts';
import { limitInFlight } from './in-flight.ts';
import { readError, readStream, readText, toApiError } from './response.ts';

const IN_FLIGHT = 10;
const TIMEOUT_MS = 10_000;
/** The longest delay of a Node.js timer, 24 days. */
const UNLIMITED_MS = 2 ** 31 - 1;
const STREAM_OPEN_MS = 30_000;
const RETRIES = 3;
const RESPONSE_BYTES = 64 * 1024 * 1024;
const REFUSED_BYTES = 64 * 1024;

type Query = Record<string, string | number | boolean | undefined>;

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path as `resourcePath` builds it. */
  path: string;
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  contentType?: string | undefined;
  accept?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Limit of the whole call in milliseconds: waiting for a place, credentials, retries, body. Default 10,000. */
  timeoutMs?: number | undefined;
  /** Do not count this call against the ten in flight, and do not wait for them. Lease renewals must not wait for slow calls. */
  urgent?: boolean | undefined;
}

export interface ApiStream {
  path: string;
  query?: Query | undefined;
  accept?: string | undefined;
  signal: AbortSignal;
}

export interface KubeClient {
  /**
   * One call; resolves to the parsed JSON of a 2xx answer. 429 is retried after `Retry-After`, within the time limit. So is
   * 503 if the call may safely be repeated.
   *
   * @throws ApiError for any other answer or none; the signal's reason when `signal` aborted
   */
  request(request: ApiRequest): Promise<unknown>;
  /**
   * Returns a long answer as it arrives, for watches and lists. It does not count against the calls in flight. Only the headers
   * have a time limit (30 s), so the reader must check for silence.
   *
   * @throws ApiError like `request`, from the call or while reading
   */
  stream(stream: ApiStream): Promise<AsyncIterable<Uint8Array>>;
  /** The namespace of the kubeconfig context, or of the pod; `default` if there is none. */
  namespace(): string;
  /** The name of the context and the address of the API server, for people. */
  place(): { readonly context: string; readonly server: string };
  /** Closes every connection immediately. */
  close(): void;
}

export interface ClientOptions {
  userAgent: string;
  /** The most calls in flight, without watches and lists. Default 10. */
  inFlight?: number | undefined;
  /** Limit of a call that names none, in milliseconds; default 10,000, 0 for none. */
  timeoutMs?: number | undefined;
  /** Limit of an answer's body, in bytes. Default 64 MiB. */
  responseBytes?: number | undefined;
  /** Called after each HTTP request, for rest_client_requests_total; `code` is `<error>` if there was no answer. */
  onResponse?: ((response: { code: string; method: string; host: string }) => void) | undefined;
  clock?: Clock | undefined;
}

/**
 * A client for the cluster that `load` returns. `load` is called again later, because files may have changed. Nothing is sent
 * before the first request.
 *
 * @throws what `load` throws
 */
export function createKubeClient(options: ClientOptions, load: () => ClusterConfig): KubeClient {
  const clock = options.clock ?? systemClock;
  const credentials = followCredentials(load, clock.monotonicMs);
  const connections = shareConnections();
  const inPlace = limitInFlight(options.inFlight ?? IN_FLIGHT);
  const responseBytes = options.responseBytes ?? RESPONSE_BYTES;
  const defaultTimeoutMs = (options.timeoutMs ?? TIMEOUT_MS) || UNLIMITED_MS;

  async function send(call: ApiRequest, used: Credentials, signal: AbortSignal) {
    const { method, body } = call;
    const { origin, host, pathname } = used.server;
    const headers: Record<string, string | string[]> = {
      ...used.headers,
      'user-agent': options.userAgent,
      accept: call.accept ?? 'application/json',
    };
    if (body !== undefined) headers['content-type'] = call.contentType ?? 'application/json';
    const path = pathname.replace(/\/$/, '') + call.path + queryText(call.query);
    let code = '<error>';
    try {
      const dispatcher = connections.use(used.tls);
      const text = body === undefined ? null : JSON.stringify(body);
      const sent = dispatcher.request({ origin, path, method, headers, body: text, signal });
      const response = await unlessAborted(signal, sent);
      code = String(response.statusCode);
      return response;
    } finally {
      options.onResponse?.({ code, method, host });
    }
  }

  /** Sends with the current credentials, and after a 401 once more with newer ones. */
  async function sendAuthenticated(call: ApiRequest, signal: AbortSignal) {
    const used = await unlessAborted(signal, credentials.get().catch(noCredentials));
    const response = await send(call, used, signal);
    if (response.statusCode !== 401) return response;
    const newer = await unlessAborted(signal, credentials.renew(used).catch(noCredentials));
    if (newer === undefined) return response;
    await response.body.dump({ limit: REFUSED_BYTES });
    return send(call, newer, signal);
  }

  async function attempt(call: ApiRequest, signal: AbortSignal): Promise<unknown> {
    const response = await sendAuthenticated(call, signal);
    if (response.statusCode >= 300) throw await readError(response);
    const text = await readText(response.body, responseBytes);
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new ApiError(0, 'InvalidResponse', `the API server answered ${call.path} with broken JSON`, {
        cause,
      });
    }
  }

  async function attemptUntil(call: ApiRequest, deadline: number, signal: AbortSignal): Promise<unknown> {
    for (let retries = 0; ; retries += 1) {
      try {
        return await attempt(call, signal);
      } catch (error) {
        const waitMs = retryDelay(call, error, retries);
        if (waitMs === undefined || clock.monotonicMs() + waitMs >= deadline) throw error;
        await pause(clock, waitMs, signal);
      }
    }
  }

  return {
    async request(call) {
      const timeoutMs = call.timeoutMs ?? defaultTimeoutMs;
      const timeout = AbortSignal.timeout(timeoutMs);
      const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]);
      const deadline = clock.monotonicMs() + timeoutMs;
      try {
        const run = () => attemptUntil(call, deadline, signal);
        return await (call.urgent === true ? run() : inPlace(signal, run));
      } catch (error) {
        call.signal?.throwIfAborted();
        if (timeout.aborted) throw timedOut(call, timeoutMs);
        throw toApiError(error, call.path);
      }
    },

    async stream(call) {
      const opening = new AbortController();
      const cancel = clock.after(STREAM_OPEN_MS, () => opening.abort());
      const signal = AbortSignal.any([call.signal, opening.signal]);
      const get: ApiRequest = { ...call, method: 'GET' };
      try {
        const response = await sendAuthenticated(get, signal);
        if (response.statusCode >= 300) throw await readError(response);
        return readStream(response.body, call.path, call.signal);
      } catch (error) {
        call.signal.throwIfAborted();
        if (opening.signal.aborted) throw timedOut(get, STREAM_OPEN_MS);
        throw toApiError(error, call.path);
      } finally {
        cancel();
      }
    },

    namespace: credentials.namespace,
    place: credentials.place,
    close: connections.close,
  };
}

function queryText(query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? '' : `?${search.toString()}`;
}

/** How long to wait before a retry; undefined if a retry is unsafe or useless. */
function retryDelay(call: ApiRequest, error: unknown, retries: number): number | undefined {
  if (!(error instanceof ApiError)) {
    // The server closed a reused connection. Only reads are repeated, because a write may have been carried out.
    return retries === 0 && call.method === 'GET' && closedUnderUs(error) ? 0 : undefined;
  }
  // The server answers 429 before it starts a call. A proxy may answer 503 after the server carried the call out.
  const harmless = error.status === 429 || (error.status === 503 && call.method !== 'POST');
  return harmless && retries < RETRIES ? error.retryAfterMs : undefined;
}

function closedUnderUs(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}

function timedOut(call: ApiRequest, timeoutMs: number): ApiError {
  return new ApiError(
    0,
    'Timeout',
    `the API server gave no answer to ${call.method} ${call.path} in ${timeoutMs} ms`,
  );
}

/**
 * Waits for `wait`, but not after `signal` aborted. Two waits do not end by the signal alone: undici keeps a request that
 * is still connecting until the connect timeout, and all requests share the call for credentials.
 */
async function unlessAborted<T>(signal: AbortSignal, wait: Promise<T>): Promise<T> {
  let giveUp = () => {};
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
  });
  try {
    return await Promise.race([wait, aborted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function noCredentials(cause: unknown): never {
  const reason = 'CredentialsUnavailable';
  const code = errorCode(cause);
  if (cause instanceof Error && 'path' in cause && typeof cause.path === 'string' && code !== undefined) {
    const what = `${cause.path} cannot be read or run for the cluster's credentials`;
    throw new ApiError(0, reason, `${what} (${code}): restore it`, { cause });
  }
  // The error has no cause, because that is the plugin's output: it may hold the credential, and loggers print causes.
  const message = 'could not get the cluster credentials: run kubectl with the same kubeconfig to see why';
  throw new ApiError(0, reason, message);
}
