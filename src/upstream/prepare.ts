import type { UpstreamConnection } from './connection.ts';
import { type UpstreamPath, upstreamURL } from './paths.ts';

/** What a connection means for every request sent over it. */
interface Prepared {
  /** The node's own headers, flat. */
  readonly headers: readonly string[];
  /** Lower-case names that a caller's header never carries. */
  readonly reserved: ReadonlySet<string>;
  readonly paths: Map<UpstreamPath, string>;
}

const neverFromCaller = [
  'authorization',
  'x-api-key',
  'api-key',
  'cookie',
  'host',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
];

const cache = new WeakMap<UpstreamConnection, Prepared>();

function prepare(connection: UpstreamConnection): Prepared {
  const known = cache.get(connection);
  if (known !== undefined) return known;
  const own = connection.headers.map(({ name }) => name.toLowerCase());
  // Answers are passed on byte for byte, so none may come compressed.
  const headers = ['accept-encoding', 'identity', ...credentialHeader(connection)];
  if (!own.includes('user-agent')) headers.push('user-agent', 'model-gateway');
  for (const { name, value } of connection.headers) headers.push(name, value);
  const prepared = {
    headers,
    reserved: new Set([...neverFromCaller, ...own]),
    paths: new Map<UpstreamPath, string>(),
  };
  cache.set(connection, prepared);
  return prepared;
}

function credentialHeader({ authentication, credential }: UpstreamConnection): string[] {
  // A Secret made from a file often ends with a newline, which no header may hold.
  const text = credential?.trim() ?? '';
  if (text === '') return [];
  if (authentication === 'XAPIKey') return ['x-api-key', text];
  if (authentication === 'APIKey') return ['api-key', text];
  return ['authorization', `Bearer ${text}`];
}

/** The request path of `path` on this connection; worked out once. */
export function requestPath(connection: UpstreamConnection, path: UpstreamPath): string {
  const { paths } = prepare(connection);
  let text = paths.get(path);
  if (text === undefined) {
    text = upstreamURL(connection.baseURL, path).path;
    paths.set(path, text);
  }
  return text;
}

/** The caller's headers (flat) without those that are not theirs to set, then the connection's. */
export function requestHeaders(connection: UpstreamConnection, caller: readonly string[]): string[] {
  const { headers, reserved } = prepare(connection);
  const all: string[] = [];
  for (let i = 0; i + 1 < caller.length; i += 2) {
    const name = caller[i] ?? '';
    if (!reserved.has(name.toLowerCase())) all.push(name, caller[i + 1] ?? '');
  }
  for (const text of headers) all.push(text);
  return all;
}
